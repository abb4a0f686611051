import type { CommandGroup } from '../command.ts';
import { checkCommand } from '../settings/check.ts';
import { formatCommand } from '../settings/format.ts';
import { removeCommand } from '../settings/remove.ts';
import { rotateCommand } from '../settings/rotate.ts';
import { saveCommand } from '../settings/save.ts';
import { selectCommand } from '../settings/select.ts';
import { setCommand } from '../settings/set.ts';
import { showCommand } from '../settings/show.ts';
import { testCommand } from '../settings/test.ts';

export const settingsCommands: CommandGroup = {
  summary: 'configures where webhook messages go, in a settings file',
  commands: {
    show: showCommand,
    check: checkCommand,
    set: setCommand,
    test: testCommand,
    save: saveCommand,
    rotate: rotateCommand,
    select: selectCommand,
    format: formatCommand,
    remove: removeCommand,
  },
};

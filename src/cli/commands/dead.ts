import type { CommandGroup } from '../command.ts';
import { listCommand } from '../dead/list.ts';
import { purgeCommand } from '../dead/purge.ts';
import { replayCommand } from '../dead/replay.ts';
import { showCommand } from '../dead/show.ts';

export const deadCommands: CommandGroup = {
  summary: 'lists, shows, replays and discards the dead letters of a durable queue',
  commands: {
    list: listCommand,
    show: showCommand,
    replay: replayCommand,
    purge: purgeCommand,
  },
};

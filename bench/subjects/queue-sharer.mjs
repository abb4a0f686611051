/** Another process that shares the file of a queue: enqueues as many messages as it is asked to. */
import process from 'node:process';
import { enteringAll, entries, openFile } from './queue.mjs';

const [file = '', callers = '1'] = process.argv.slice(2);
const queue = await openFile(file);
const enqueue = async (count) => {
  await enteringAll(queue, entries(count), Number(callers));
  process.send('done');
};
process.on('message', (count) => void enqueue(count));
process.on('disconnect', () => void queue.close());
process.send('open');

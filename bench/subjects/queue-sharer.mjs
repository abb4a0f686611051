/** Another process that shares a queue file. Enqueues as many messages as its parent requests. */
import process from 'node:process';
import { enqueueAll, entries, openFile } from './queue.mjs';

const [file = '', callers = '1'] = process.argv.slice(2);
const queue = await openFile(file);
const enqueue = async (count) => {
  await enqueueAll(queue, entries(count), Number(callers));
  process.send('done');
};
process.on('message', (count) => void enqueue(count));
process.on('disconnect', () => void queue.close());
process.send('open');

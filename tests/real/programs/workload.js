// A JSON, Map, Buffer, zlib, crypto and worker_threads workload; prints digests of what it computed.
'use strict';

const crypto = require('crypto');
const zlib = require('zlib');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

let state = 12345;

function randomBelow(limit) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >> 8) % limit;
}

function randomWord() {
  let word = '';
  for (let i = randomBelow(12); i >= 0; i--) word += String.fromCharCode(97 + randomBelow(26));
  return word;
}

function md5(data) {
  return crypto.createHash('md5').update(data).digest('hex');
}

const words = Array.from({ length: 4000 }, randomWord);

function jsonAndMaps(rounds) {
  const results = [];
  for (let round = 0; round < rounds; round++) {
    const map = new Map();
    for (let i = 0; i < 50000; i++) {
      const word = words[randomBelow(words.length)];
      const record = map.get(word) || { word, places: [], nested: { depth: round } };
      record.places.push(i);
      map.set(word, record);
    }
    const copy = JSON.parse(JSON.stringify([...map.values()]));
    copy.sort((a, b) => a.places.length - b.places.length || (a.word < b.word ? -1 : 1));
    results.push(md5(JSON.stringify(copy)));
  }
  return results;
}

function buffers(rounds) {
  const live = new Array(64).fill(Buffer.alloc(0));
  const hash = crypto.createHash('sha256');
  for (let round = 0; round < rounds; round++) {
    const fresh = Buffer.allocUnsafe(1 + randomBelow(round % 50 ? 20000 : 2000000)).fill(randomBelow(256));
    const slot = randomBelow(live.length);
    hash.update(live[slot]);
    live[slot] = round % 3 ? fresh : Buffer.concat([fresh, live[(slot + 1) % 64].subarray(0, 5000)]);
    if (round % 10 === 0) {
      const packed = zlib.deflateSync(live[slot]);
      if (!zlib.inflateSync(packed).equals(live[slot])) throw new Error('deflate does not invert');
      hash.update(packed);
    }
  }
  return hash.digest('hex');
}

function text() {
  const joined = words.join(' ').repeat(20);
  const swapped = joined.replace(/\b([a-m]\w*) ([n-z]\w*)\b/g, (_, a, b) => `${b} ${a.toUpperCase()}`);
  return md5(swapped) + md5(Buffer.from(swapped, 'utf16le').toString('base64'));
}

// Takes array buffers from the main thread, and sends them back changed.
function workerMain() {
  state = workerData;
  parentPort.on('message', (message) => {
    if (message === 'end') {
      parentPort.postMessage({ digest: jsonAndMaps(2).join() + buffers(300) });
      parentPort.close();
      return;
    }
    const array = new Uint32Array(message);
    for (let i = 0; i < array.length; i++) array[i] = Math.imul(array[i], 2654435761) + workerData;
    parentPort.postMessage({ returned: array.buffer }, [array.buffer]);
  });
}

function runWorker(seed, rounds) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: seed });
    const hash = crypto.createHash('md5');
    let sent = 0;
    const send = () => {
      if (sent === rounds) return worker.postMessage('end');
      const array = new Uint32Array(1000 + sent * 37).fill(sent++);
      worker.postMessage(array.buffer, [array.buffer]);
    };
    worker.on('error', reject);
    worker.on('message', (message) => {
      if (message.digest) return resolve(hash.digest('hex') + message.digest);
      hash.update(Buffer.from(message.returned));
      send();
    });
    send();
  });
}

async function main() {
  const scale = Number(process.argv[2] || 1);
  console.log('json', jsonAndMaps(4 * scale).join(' '));
  console.log('buffers', buffers(1500 * scale));
  console.log('text', text());
  for (let round = 0; round < scale; round++) {
    const seeds = [1, 2, 3, 4].map((n) => n * 1000 + round);
    const digests = await Promise.all(seeds.map((seed) => runWorker(seed, 100)));
    digests.forEach((digest, i) => console.log('worker', i, md5(digest)));
  }
  const compressed = await Promise.all(words.slice(0, 400).map((word) => new Promise((resolve, reject) => {
    zlib.gzip(word.repeat(500), (error, data) => (error ? reject(error) : resolve(data)));
  })));
  console.log('pool', md5(Buffer.concat(compressed.map((data) => zlib.gunzipSync(data)))));
}

if (isMainThread) main();
else workerMain();

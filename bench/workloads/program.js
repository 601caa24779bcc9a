// What node programs ask malloc for: buffers, compression and hashing, besides what V8 takes from the system
// for its own heap; with JSON, maps and strings, as a server's inner loop has them.
//
// usage: node program.js [PERCENT]
'use strict';
const crypto = require('crypto');
const zlib = require('zlib');

const percent = Number(process.argv[2] || '100');
const sum = crypto.createHash('sha256');

let state = 5;
function below(bound) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >>> 12) % bound;
}

const kWords = 'amber birch cedar delta ember fjord grove heron islet jetty knoll larch'.split(' ');
const word = () => kWords[below(kWords.length)];

function document(id) {
  const rows = [];
  for (let k = 20 + below(60); k > 0; --k) {
    rows.push({name: word() + below(1000), tags: [word(), word()], value: below(1e6)});
  }
  return {id, title: word(), rows};
}

// Requests: a document becomes text, compressed, hashed, and comes back.
async function exchange(count) {
  const answers = new Map();
  for (let id = 0; id < count; ++id) {
    const text = JSON.stringify(document(id));
    const packed = id % 2 ? zlib.deflateSync(text, {level: 1}) : await gzipped(text);
    const again = JSON.parse((id % 2 ? zlib.inflateSync(packed) : zlib.gunzipSync(packed)).toString());
    answers.set(crypto.createHash('md5').update(text).digest('hex'), again.rows.length);
    if (answers.size > 200) answers.delete(answers.keys().next().value);
  }
  for (const [key, rows] of answers) sum.update(key + rows);
}

function gzipped(text) {
  return new Promise((resolve, reject) => {
    zlib.gzip(text, {level: 1}, (error, packed) => (error ? reject(error) : resolve(packed)));
  });
}

// Packets: buffers of many sizes that live for a while, joined and cut.
function buffers(count) {
  const living = [];
  let total = 0;
  for (let k = 0; k < count; ++k) {
    const size = 1 << (6 + below(11));
    const buffer = Buffer.allocUnsafeSlow(size + below(size)).fill(k & 255);
    if (living.length < 300) living.push(buffer);
    else living[below(300)] = buffer;
    if (k % 64 === 0) {
      const joined = Buffer.concat(living.slice(0, 8));
      total = (total * 31 + joined[below(joined.length)] + joined.length) % 1000000007;
      const text = joined.subarray(0, 300).toString('base64');
      total += joined.toString('hex', 0, 64).length + Buffer.from(text, 'base64').length;
    }
  }
  sum.update(String(total));
}

function secrets(count) {
  for (let k = 0; k < count; ++k) {
    const key = crypto.createHash('sha256').update(String(k)).digest();
    const cipher = crypto.createCipheriv('aes-256-gcm', key, key.subarray(0, 12));
    const text = Buffer.alloc(3000 + below(3000), k & 255);
    const hidden = Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]);
    sum.update(crypto.createHmac('sha1', key).update(hidden).digest());
  }
}

function arrays(count) {
  for (let k = 0; k < count; ++k) {
    const numbers = new Float64Array(200 + below(4000)).map((_, at) => (at * 7919 + k) % 1009);
    sum.update(String(numbers.sort().subarray(0, 50).reduce((a, b) => a + b, 0)));
  }
}

async function main() {
  await exchange(14 * percent);
  buffers(600 * percent);
  secrets(60 * percent);
  arrays(10 * percent);
  console.log('checksum', sum.digest('hex').slice(0, 16));
}

main();

"use strict";
// Holds the model. A message with a module opens it; each other is a question, answered by the words of the module.
let exports = null;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const told = (text, what) => {
  const bytes = encoder.encode(text);
  const at = exports.room(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const length = what();
  return JSON.parse(decoder.decode(new Uint8Array(exports.memory.buffer, exports.place(), length)));
};
const ask = (question) => told(JSON.stringify(question), exports.answer);
// A later question ends what an earlier one left to do.
let latest = 0;
const later = () => new Promise((go) => setTimeout(go, 0));
const simulate = async (turn, question) => {
  for (let row = 0; turn === latest; row += 1) {
    const answer = ask({ ...question, simulate: row });
    const over = !answer.more;
    if (turn === latest) postMessage({ turn, answer, over });
    if (over) return;
    await later();
  }
};
// A failure of a promise is none of the worker to its page: it is thrown again outside of it.
onmessage = (event) => { heard(event.data).catch((error) => setTimeout(() => { throw error; }, 0)); };
const heard = async (data) => {
  if (data.module) {
    exports = (await WebAssembly.instantiate(data.module, {})).exports;
    const opened = told(data.catalog, exports.open);
    postMessage({ opened: data.choices && !opened.problems ? ask({ ask: "choices" }) : opened });
    return;
  }
  latest = data.turn;
  if (data.rows) {
    await simulate(data.turn, data.question);
    return;
  }
  postMessage({ turn: data.turn, answer: ask(data.question), over: true });
};

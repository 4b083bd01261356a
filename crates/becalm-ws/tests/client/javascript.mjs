// Exchanges numbered messages with a server, and says what has come: javascript.rs runs it.
import { Session } from "../../../../docs/session.mjs";

const [url, count] = [process.argv[2], Number(process.argv[3])];
const [came, words] = [[], []];
const session = new Session(url, {
  message: (data) => came.push(typeof data === "string" ? `text ${data}` : `binary ${new TextDecoder().decode(data)}`),
  resumed: () => words.push("resumed"),
  cold: (reason, unconfirmed) => words.push(`cold ${reason} ${unconfirmed.length}`),
}, 4000);
let next = 0;
const end = Date.now() + 20_000;
const timer = setInterval(() => {
  while (next < count && session.send(next % 2 ? new TextEncoder().encode(`${next}`) : `${next}`)) next++;
  if ((came.length >= count && next === count && session.unconfirmed === 0) || Date.now() > end) {
    clearInterval(timer);
    session.close();
    console.log([...words, ...came].join("\n"));
    setTimeout(() => process.exit(0), 200);
  }
}, 2);

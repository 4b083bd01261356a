// Says after which close codes it dials again, and with which each of these addresses ends it: javascript_closes.rs runs it.
import { dialsAgain, Session } from "../../../../docs/session.mjs";

console.log([...Array(65_536).keys()].filter(dialsAgain).join(" "));
const urls = process.argv.slice(2);
const ended = new Map();
urls.forEach((url, index) => {
  const session = new Session(url, {
    message: () => {},
    closing: (code) => (code === 1003 ? true : undefined), // a table of one's own
    ended: (code) => {
      if (code === 1008 && !ended.has(index)) { // a person logs in
        ended.set(index, code);
        return session.dial();
      }
      ended.set(index, code);
      console.log(`${index} ${code}`);
      if (ended.size === urls.length) setTimeout(() => process.exit(0), 100);
    },
  });
});
setTimeout(() => process.exit(1), 25_000);

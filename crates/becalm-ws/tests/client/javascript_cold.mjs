// Loses its session with messages that were sent and others that were not, and says what it is told: javascript.rs runs it.
import { Session } from "../../../../docs/session.mjs";

const [url, carries] = [process.argv[2], { yes: true, no: false }[process.argv[3]]];
const session = new Session(url, {
  message: (data) => {
    if (data === "bye") setTimeout(() => ["two", "three"].forEach((text) => session.send(text)), 150);
    if (data === "done") {
      session.close();
      setTimeout(() => process.exit(0), 200);
    }
  },
  cold: (reason, unconfirmed, unsent) => {
    console.log(`cold ${reason} [${unconfirmed}] [${unsent}]`);
    if (reason > 0) session.send("in the call");
    return carries;
  },
});
session.send("one");
setTimeout(() => process.exit(1), 20_000);

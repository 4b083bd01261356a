// A session of becalm-ws in a browser, or in Node 22: docs/websocket-sessions.md, as a program.
//
//   const session = new Session("wss://shop.example/orders", {
//     message: (data) => show(data),                     // a string or a Uint8Array, each once, in order
//     resumed: () => {},                                 // the session goes on
//     cold: (reason, unconfirmed, unsent) => loadEverything(), // a new session: what was sent and has no confirmation is handed back;
//                                                     // what was never sent goes over it, unless this returns false (or not true, for reason 4: another user)
//     ended: (code, reason) => askForALogin(),         // it does not dial again by itself: session.dial() does, with what waits
//   });
//   session.send("hello");                               // false: no room, try again when something was confirmed

const HEAD = 17; // of a message in its envelope
const EACH = 64; // counted for each message besides its bytes
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Whether it dials again after this close code: as becalm-ws does by default (becalm::classify::websocket::classify_close). */
export function dialsAgain(code) {
  if (code >= 4400 && code < 4600) { // a status of HTTP
    const status = code - 4000;
    return [408, 425, 429].includes(status) || (status >= 500 && ![501, 505, 506, 507, 508, 510, 511].includes(status));
  }
  return [1001, 1005, 1006, 1011, 1012, 1013, 1014, 1015, 3008].includes(code) || (code >= 4000 && code < 5000);
}

export class Session {
  #url; #on; #window; #socket; #closed = false; #isBroken = ""; #isDialled = false; #failures = 0;
  #name = new Uint8Array(24); // id and epoch
  #dial = 0; #open = false; #peer = { longest: 0, window: 0 };
  #kept = []; #bytes = 0; #confirmed = 0; #given = 0; #sent = 0; // what goes
  #received = 0; #told = 0; #owed = 0; #timer; // what comes

  constructor(url, on, window = 256 * 1024) {
    [this.#url, this.#on, this.#window] = [url, on, window];
    this.#connect();
  }

  send(data) {
    const bytes = typeof data === "string" ? encoder.encode(data) : data;
    const room = Math.min(this.#window, this.#open ? this.#peer.window : this.#window);
    if (this.#open && bytes.length > this.#peer.longest) throw new RangeError("longer than the server accepts");
    if (this.#kept.length > 0 && this.#bytes + bytes.length + EACH > room) return false;
    this.#kept.push({ data, kind: typeof data === "string" ? 4 : 5, bytes });
    this.#bytes += bytes.length + EACH;
    this.#flush();
    return true;
  }

  /** Ends the session for good. */
  close() {
    this.#closed = true;
    this.#ack();
    if (this.#open) this.#socket.send(new Uint8Array([7]));
    this.#socket.close(1000);
    clearTimeout(this.#timer);
  }

  /** Dials at once: after `ended`, or in place of a wait. */
  dial() {
    if (!this.#closed && !this.#isDialled) this.#connect();
  }

  get unconfirmed() { return this.#kept.length; }

  #connect() {
    [this.#isDialled, this.#isBroken] = [true, ""];
    const socket = (this.#socket = new WebSocket(this.#url));
    socket.binaryType = "arraybuffer";
    const mine = () => socket === this.#socket && !this.#closed;
    socket.onopen = () => mine() && socket.send(this.#hello());
    socket.onmessage = ({ data }) => mine() && this.#take(data);
    const lost = (code, reason) => {
      if (!mine() || !this.#isDialled) return;
      [this.#open, this.#isDialled] = [false, false];
      clearTimeout(this.#timer);
      const again = this.#on.closing?.(code, reason) ?? dialsAgain(code);
      if (!again) return this.#on.ended?.(code, reason);
      const ceiling = Math.min(30_000, 1_000 * 2 ** this.#failures++); // full jitter
      const wait = code === 1012 ? 5_000 + Math.random() * 25_000 : Math.random() * ceiling; // a restart: what its registration asks
      setTimeout(() => mine() && this.dial(), wait);
    };
    socket.onclose = ({ code, reason }) => (this.#isBroken ? lost(1002, this.#isBroken) : lost(code, reason));
    socket.onerror = () => socket.readyState !== 1 && setTimeout(lost, 0, 1006, ""); // Node 20 tells no close of a dial that failed
  }

  #hello() {
    const view = new DataView(new ArrayBuffer(66));
    const bytes = new Uint8Array(view.buffer);
    bytes.set([1, 0x62, 0x63, 0x6c, 0x6d, 1]); // hello, "bclm", version 1
    view.setUint32(6, 16 * 2 ** 20 - HEAD);
    view.setUint32(10, this.#window);
    bytes.set(this.#name, 14);
    if (this.#name.some((byte) => byte)) {
      view.setUint32(38, ++this.#dial);
      view.setBigUint64(42, BigInt(this.#received));
      view.setBigUint64(50, BigInt(this.#confirmed));
      view.setBigUint64(58, BigInt(this.#sent));
    }
    return view.buffer;
  }

  #take(data) {
    if (!(data instanceof ArrayBuffer)) return this.#breaks("no envelope");
    const view = new DataView(data);
    const u64 = (at) => Number(view.getBigUint64(at));
    const kind = view.getUint8(0);
    if (kind === 2) {
      this.#peer = { longest: view.getUint32(1), window: view.getUint32(5) };
      this.#hear(u64(9));
      this.#answered();
      this.#on.resumed?.();
    } else if (kind === 3) {
      this.#peer = { longest: view.getUint32(2), window: view.getUint32(6) };
      const isFirst = this.#dial === 0; // what waits, waits for this session
      const unconfirmed = this.#kept.splice(0, this.#sent - this.#confirmed);
      const unsent = [...this.#kept];
      this.#count();
      this.#name = new Uint8Array(data.slice(10, 34));
      [this.#dial, this.#received, this.#confirmed, this.#sent] = [1, 0, 0, 0];
      const payloads = (messages) => messages.map(({ data }) => data);
      const reason = view.getUint8(1);
      const said = this.#on.cold?.(reason, payloads(unconfirmed), payloads(isFirst ? [] : unsent));
      const carries = reason === 4 ? said === true : said !== false;
      if (!carries && !isFirst) this.#kept.splice(0, unsent.length); // what was sent in the call stays
      this.#count();
      this.#answered();
    } else if (kind === 4 || kind === 5) {
      if (u64(1) !== this.#received + 1) return this.#breaks("a message is missing");
      this.#hear(u64(9));
      this.#received += 1;
      this.#owed += data.byteLength - HEAD + EACH;
      const payload = new Uint8Array(data, HEAD);
      this.#on.message(kind === 4 ? decoder.decode(payload) : payload);
      const much = this.#owed >= Math.min(this.#window, this.#peer.window) / 4;
      if (much || this.#received - this.#told >= 64) this.#ack();
      else this.#timer ??= setTimeout(() => this.#ack(), 500);
    } else if (kind === 6) {
      this.#hear(u64(1));
    } else if (kind === 7) {
      this.#open = false;
      this.#name.fill(0);
    }
    this.#flush();
  }

  /** The session is of no use: a connection that is dialled begins a new one. */
  #breaks(reason) {
    this.#name.fill(0);
    [this.#open, this.#isBroken] = [false, reason];
    this.#socket.close(4000, reason); // a browser may not say 1002
  }

  #count() {
    this.#bytes = this.#kept.reduce((sum, { bytes }) => sum + bytes.length + EACH, 0);
  }

  #answered() {
    [this.#open, this.#given, this.#failures] = [true, 0, 0];
    this.#ack();
  }

  /** The server has all up to this. */
  #hear(received) {
    for (; this.#confirmed < received; this.#confirmed++) {
      this.#bytes -= this.#kept.shift().bytes.length + EACH;
      this.#given = Math.max(0, this.#given - 1);
    }
  }

  #clear() {
    clearTimeout(this.#timer);
    [this.#timer, this.#owed, this.#told] = [undefined, 0, this.#received];
  }

  #ack() {
    this.#clear();
    if (!this.#open) return;
    const view = new DataView(new ArrayBuffer(9));
    view.setUint8(0, 6);
    view.setBigUint64(1, BigInt(this.#received));
    this.#socket.send(view.buffer);
  }

  #flush() {
    while (this.#open && this.#given < this.#kept.length) {
      const { kind, bytes } = this.#kept[this.#given++];
      const number = this.#confirmed + this.#given;
      const message = new Uint8Array(HEAD + bytes.length);
      const view = new DataView(message.buffer);
      view.setUint8(0, kind);
      view.setBigUint64(1, BigInt(number));
      view.setBigUint64(9, BigInt(this.#received));
      message.set(bytes, HEAD);
      this.#sent = Math.max(this.#sent, number);
      this.#clear();
      this.#socket.send(message);
    }
  }
}

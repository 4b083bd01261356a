// Makes calls one after the other with grpc-js, and tells how each ended: the number of its code, or "refused" where the
// service config is not taken.
const grpc = require("@grpc/grpc-js");

const [address, config, calls] = process.argv.slice(1);
let client;
try {
  client = new grpc.Client(address, grpc.credentials.createInsecure(), { "grpc.service_config": config });
} catch {
  console.log("refused");
  process.exit(0);
}
const next = (left) => {
  if (left === 0) return client.close();
  const deadline = Date.now() + 20_000;
  const same = (bytes) => bytes;
  client.makeUnaryRequest("/shop.v1.Orders/Get", same, same, Buffer.alloc(0), new grpc.Metadata(), { deadline }, (error) => {
    console.log(error ? error.code : 0);
    next(left - 1);
  });
};
next(Number(calls));

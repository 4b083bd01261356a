//! Does a new connection end only what was its own? A stranger at another server may have the number and the address of the one before.

use redis::AsyncCommands;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use crate::proxy::{Proxy, from_port};
use crate::server::Server;

/// Asks its server for something in one line, and reads one.
async fn line(stream: &mut BufReader<TcpStream>, command: &str) -> String {
    let written = stream.write_all(format!("{command}\r\n").as_bytes()).await;
    written.expect("it is open");
    let mut line = String::new();
    let read = stream.read_line(&mut line).await;
    assert!(read.expect("it is open") > 0, "it was closed: {command}");
    line.trim().to_owned()
}

async fn number(stream: TcpStream) -> (BufReader<TcpStream>, u64) {
    let mut stream = BufReader::new(stream);
    let told = line(&mut stream, "CLIENT ID").await;
    (stream, told[1..].parse().expect("a number"))
}

#[tokio::test]
async fn who_has_the_number_and_the_address_of_another_servers_client_goes_on() {
    let (first, second) = (Server::started(&[]), Server::started(&[]));
    // An address that nothing listens on, which both connections come from.
    let from = TcpSocket::new_v4().expect("a socket");
    from.set_reuseaddr(true).expect("set");
    from.bind("127.0.0.1:0".parse().expect("an address"))
        .expect("a port");
    let from = from.local_addr().expect("an address").port();
    // Numbers that neither server has given yet.
    let dial = |server: &Server| TcpStream::connect(("127.0.0.1", server.port()));
    while number(dial(&second).await.expect("it listens")).await.1 < 100 {}
    let stranger = from_port(from, second.port()).await.expect("it listens");
    let (mut stranger, its) = number(stranger).await;
    while number(dial(&first).await.expect("it listens")).await.1 < its - 1 {}

    let switch = Proxy::to(first.port()).await;
    switch.come_from(from);
    let redis = becalm_redis::Connection::open(&switch.url()).expect("an address");
    let own: u64 = redis::cmd("CLIENT")
        .arg("ID")
        .query_async(&mut redis.clone())
        .await
        .expect("told");
    assert_eq!(own, its);
    switch.come_from(0);
    switch.switch(second.port());
    switch.cut();
    let () = redis.clone().set("k", 1).await.expect("it is set");
    assert_eq!(line(&mut stranger, "PING").await, "+PONG");
}

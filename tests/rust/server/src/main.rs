//! A server of values by key, on tokio, and a client that loads it.
//!
//! `server` prints its address and serves until `STOP`. `server client ADDRESS` opens connections that set, append to,
//! read and remove values, checks each answer, and prints a sum of all of them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Notify};

#[cfg(feature = "acre")]
#[global_allocator]
static A: acre::Acre = acre::Acre;

const CONNECTIONS: u64 = 24;
const REQUESTS: u64 = 400;

type Values = HashMap<String, String>;

async fn serve(stream: TcpStream, values: Arc<Mutex<Values>>, stop: Arc<Notify>) -> std::io::Result<()> {
    let (from, mut to) = stream.into_split();
    let mut lines = BufReader::new(from).lines();
    while let Some(line) = lines.next_line().await? {
        let mut words = line.splitn(3, ' ').map(String::from);
        let (order, key) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let value = words.next().unwrap_or_default();
        let answer = match order.as_str() {
            "SET" => values.lock().await.insert(key, value).unwrap_or_default(),
            "ADD" => {
                let mut values = values.lock().await;
                let kept = values.entry(key).or_default();
                kept.push_str(&value);
                kept.clone()
            }
            "GET" => values.lock().await.get(&key).cloned().unwrap_or_default(),
            "DEL" => values.lock().await.remove(&key).unwrap_or_default(),
            "STOP" => {
                stop.notify_one();
                format!("{} keys", values.lock().await.len())
            }
            _ => "?".into(),
        };
        to.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

async fn run_server() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let (values, stop) = (Arc::new(Mutex::new(Values::new())), Arc::new(Notify::new()));
    loop {
        tokio::select! {
            () = stop.notified() => return Ok(()),
            accepted = listener.accept() => {
                tokio::spawn(serve(accepted?.0, values.clone(), stop.clone()));
            }
        }
    }
}

struct Connection {
    lines: tokio::io::Lines<BufReader<tokio::net::tcp::OwnedReadHalf>>,
    to: tokio::net::tcp::OwnedWriteHalf,
}

impl Connection {
    async fn open(address: &str) -> std::io::Result<Self> {
        let (from, to) = TcpStream::connect(address).await?.into_split();
        Ok(Connection { lines: BufReader::new(from).lines(), to })
    }

    async fn ask(&mut self, request: String) -> std::io::Result<String> {
        self.to.write_all(request.as_bytes()).await?;
        Ok(self.lines.next_line().await?.expect("the server answers"))
    }
}

/// The requests of one connection, whose keys are its own: so it knows each answer.
async fn load(address: String, connection: u64) -> std::io::Result<u64> {
    let mut server = Connection::open(&address).await?;
    let mut expected = Values::new();
    let mut all = DefaultHasher::new();
    let mut random = connection.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for request in 0..REQUESTS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = format!("{connection}/{}", (random >> 33) % 40);
        let length = if request % 50 == 49 { 100_000 } else { (random >> 40) % 3000 };
        let value = "x".repeat(length as usize) + &request.to_string();
        let (order, answer) = match random >> 62 {
            0 => (format!("SET {key} {value}\n"), expected.insert(key, value).unwrap_or_default()),
            1 => {
                let kept = expected.entry(key.clone()).or_default();
                kept.push_str(&value);
                (format!("ADD {key} {value}\n"), kept.clone())
            }
            2 => (format!("GET {key}\n"), expected.get(&key).cloned().unwrap_or_default()),
            _ => (format!("DEL {key}\n"), expected.remove(&key).unwrap_or_default()),
        };
        let told = server.ask(order).await?;
        assert_eq!(told, answer, "request {request} of connection {connection}");
        all.write(told.as_bytes());
    }
    Ok(all.finish())
}

async fn run_client(address: String) -> std::io::Result<()> {
    let tasks: Vec<_> = (0..CONNECTIONS).map(|number| tokio::spawn(load(address.clone(), number))).collect();
    let mut sum = 0_u64;
    for task in tasks {
        sum = sum.rotate_left(1) ^ task.await.expect("every answer is right")?;
    }
    println!("{sum:016x} {}", Connection::open(&address).await?.ask("STOP\n".into()).await?);
    Ok(())
}

#[tokio::main(worker_threads = 4)]
async fn main() -> std::io::Result<()> {
    match std::env::args().nth(2) {
        Some(address) => run_client(address).await,
        None => run_server().await,
    }
}

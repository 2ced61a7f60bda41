// A service in Rust, its standard library alone: http PORT [URL...]. GETs each URL + path of the request, then
// answers 200; 503 if a call failed. One thread for each connection.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

#[inline(never)]
fn call_dependency(host: &str, path: &str) -> bool {
    let mut stream = match TcpStream::connect(host) {
        Ok(stream) => stream,
        Err(_) => return false,
    };
    let head = format!("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path, host);
    if stream.write_all(head.as_bytes()).is_err() {
        return false;
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).is_ok() && answer.starts_with(b"HTTP/1.1 200")
}

#[inline(never)]
fn serve(connection: TcpStream, hosts: &[String]) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut writer = connection;
    loop {
        let mut path = String::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or("/").to_string();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut good = true;
        for (n, host) in hosts.iter().enumerate() {
            good &= call_dependency(host, &format!("{}/{}", path, n));
        }
        let status = if good { "200 OK" } else { "503 Unavailable" };
        write!(writer, "HTTP/1.1 {}\r\nContent-Length: 0\r\n\r\n", status)?;
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let port: u16 = words.next().expect("port").parse().expect("a number");
    let hosts: Vec<String> = words.collect();
    for connection in TcpListener::bind(("127.0.0.1", port)).expect("bind").incoming().flatten() {
        let own = hosts.clone();
        std::thread::spawn(move || serve(connection, &own));
    }
}

//! The console behind a real nginx, with the files of `packaging/`.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use base64::Engine as _;
use leaseq::Item;
use leaseq_console::{Access, Role, UserHeader};
use leaseq_test_support::{Port, eventually};
use tempfile::TempDir;

use crate::http::Request;
use crate::support::{Engine, TOKENS};

struct Nginx {
    address: SocketAddr,
    child: Child,
    _port: Port,
    _folder: TempDir,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Nginx {
    /// Serves a file of `packaging/`, for a console at this address.
    async fn start(file: &str, console: SocketAddr, users: &str) -> Nginx {
        let folder = tempfile::tempdir().unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(file);
        let location = std::fs::read_to_string(path).unwrap();
        let file = folder.path().join("users");
        std::fs::write(&file, users).unwrap();
        let location = location
            .replace("127.0.0.1:8686", &console.to_string())
            .replace("/etc/nginx/queues.htpasswd", file.to_str().unwrap());
        let port = Port::reserve();
        let address = SocketAddr::from(([127, 0, 0, 1], port.number()));
        let root = folder.path().display();
        let config = format!(
            "daemon off;\nmaster_process off;\npid {root}/pid;\nerror_log {root}/error.log;\nevents {{}}\n\
             http {{\naccess_log off;\nclient_body_temp_path {root}/b;\nproxy_temp_path {root}/p;\n\
             fastcgi_temp_path {root}/f;\nuwsgi_temp_path {root}/u;\nscgi_temp_path {root}/s;\n\
             server {{\nlisten {address};\n{location}\n}}\n}}\n"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let child = Command::new("/usr/sbin/nginx")
            .arg("-c")
            .arg(&file)
            .arg("-p")
            .arg(folder.path())
            .spawn()
            .unwrap();
        let nginx = Nginx { address, child, _port: port, _folder: folder };
        let listens = async || tokio::net::TcpStream::connect(address).await.is_ok();
        assert!(eventually(Duration::from_secs(10), listens).await, "nginx does not listen");
        nginx
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nginx: make test-console"]
async fn a_proxy_serves_it_under_a_path() {
    let engine = Engine::redis();
    engine.queue("mail").await.add_item(Item::new("x")).await.unwrap();
    let console = engine
        .console_with(|options| {
            options.base = "/queues".into();
            options.public_url = Some("https://queues.example.com/queues/".parse().unwrap());
        })
        .await;
    let nginx = Nginx::start("nginx.conf", console.address, "").await;
    let send = |request: Request| request.header("Host", "queues.example.com").send(nginx.address);
    let asked = send(Request::get("/queues/")).await;
    assert_eq!(asked.header("location"), Some("/queues/login?next=%2Fqueues%2F"), "{asked:?}");
    let form = [("token", TOKENS[1].1)];
    let own = "https://queues.example.com";
    let login = send(Request::foreign_post("/queues/login", &form).header("Origin", own)).await;
    assert_eq!(login.status, 303, "{login:?}");
    let set = login.header("set-cookie").unwrap();
    assert!(set.contains("Secure") && set.contains("Path=/queues;"), "{set}");
    let cookie = login.cookie().unwrap().to_owned();
    let page = send(Request::get("/queues/queues/mail").header("Cookie", &cookie)).await;
    page.has(200, "href=\"/queues/assets/").has(200, "action=\"/queues/queues/mail/pause\"");
    let pause =
        || Request::foreign_post("/queues/queues/mail/pause", &[]).header("Cookie", &cookie);
    send(pause().header("Origin", "http://queues.example.com"))
        .await
        .has(403, "not sent by a page");
    assert_eq!(send(pause().header("Origin", own)).await.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nginx: make test-console"]
async fn an_authenticating_proxy_names_the_user() {
    let engine = Engine::sqlite();
    let access = Access::Header(UserHeader {
        name: "x-leaseq-user".parse().unwrap(),
        trusted: vec!["127.0.0.1/32".parse().unwrap()],
        roles: HashMap::from([("ada".into(), Role::Administer)]),
        default: None,
    });
    let console = engine.console_with(|options| options.access = access).await;
    let nginx =
        Nginx::start("nginx-auth.conf", console.address, "ada:{PLAIN}secret\nbob:{PLAIN}secret\n")
            .await;
    let coded = |text: &str| format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(text));
    let get = |user: &str| Request::get("/").header("Authorization", &coded(user));
    get("ada:secret").send(nginx.address).await.has(200, "ada · administer");
    get("bob:secret").send(nginx.address).await.has(401, "Sign in");
    assert_eq!(get("ada:wrong").send(nginx.address).await.status, 401);
    // The header of a client does not reach the console.
    get("ada:secret")
        .header("X-Leaseq-User", "bob")
        .send(nginx.address)
        .await
        .has(200, "ada · administer");
}

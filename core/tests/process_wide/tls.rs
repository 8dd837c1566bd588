//! The cryptography of the process is the program's affair.

use leaseq::{Client, Item};
use leaseq_test_support::TlsServer;
use rustls::crypto::{CryptoProvider, ring};

#[tokio::test]
async fn a_program_installs_its_own_provider_before_and_after_a_tls_connection() {
    let server = TlsServer::start();
    let url = format!("{}?ca_file={}", server.url(), server.ca_file().display());
    let client = Client::connect(&url).await.unwrap();
    assert!(client.queue("q").unwrap().add_item(Item::new("data")).await.unwrap());
    assert!(CryptoProvider::get_default().is_none(), "the library must install none");

    ring::default_provider().install_default().expect("nobody was first");
    let again = Client::connect(&url).await.unwrap();
    assert_eq!(again.queue("q").unwrap().queue_len().await.unwrap(), 1);
}

//! Metrics, traces and webhooks.

#[cfg(feature = "metrics")]
mod metrics {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use leaseq_jobs::JobError;

    use crate::support::{Bench, Echo, PATIENCE, soon};
    use leaseq_test_support::eventually;

    fn scrape(address: SocketAddr) -> String {
        let Ok(mut stream) = TcpStream::connect(address) else { return String::new() };
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn metrics_tell_what_handlers_did() {
        let bench = Bench::in_memory().await;
        // A free port.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let worker = bench.worker().slots(7).metrics(address).handle(|echo: Echo, _| async move {
            if echo.text == "bad" { Err(JobError::bury("no")) } else { Ok(()) }
        });
        for text in ["good", "good", "bad"] {
            bench.add(text).await;
        }
        let seen = async {
            let all = async || {
                let text = tokio::task::spawn_blocking(move || scrape(address)).await.unwrap();
                [
                    r#"leaseq_worker_jobs_total{queue="echo",job="test.echo",end="completed"} 2"#,
                    r#"leaseq_worker_jobs_total{queue="echo",job="test.echo",end="dead"} 1"#,
                    r#"leaseq_worker_waiting_seconds_count{queue="echo",job="test.echo"} 3"#,
                    r#"leaseq_worker_run_seconds_count{queue="echo",job="test.echo"} 3"#,
                    "leaseq_worker_slots 7",
                    "leaseq_worker_throttled 0",
                ]
                .iter()
                .all(|line| text.contains(line))
            };
            assert!(eventually(PATIENCE, all).await);
        };
        soon(worker.run_until(seen)).await.unwrap();
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let worker = bench.worker().metrics(address).handle(crate::support::nothing);
        let refused = soon(worker.run_until_idle()).await.unwrap_err().to_string();
        assert!(refused.starts_with(&format!("metrics at {address}")), "{refused}");
    }
}

#[cfg(feature = "opentelemetry")]
mod traces {
    use leaseq_jobs::{Context, JobError, OpenTelemetry, Producer};
    use opentelemetry::global;
    use opentelemetry::trace::{SpanKind, Status};
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};

    use crate::support::{Bench, Echo, soon};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_span_of_a_handler_is_linked_to_that_of_its_producer() {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        global::set_tracer_provider(provider);
        global::set_text_map_propagator(TraceContextPropagator::new());
        let bench = Bench::in_memory().await;
        let producer = Producer::new(&bench.client).middleware(OpenTelemetry);
        let job = producer.enqueue(Echo::named("a")).await.unwrap();
        let worker =
            bench.worker().middleware(OpenTelemetry).handle(|_: Echo, job: Context| async move {
                assert!(job.meta()["traceparent"].starts_with("00-"));
                Err::<(), _>(JobError::bury("no"))
            });
        soon(worker.run_until_idle()).await.unwrap();
        let spans = exporter.get_finished_spans().unwrap();
        let [sent, run] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!((&*sent.name, &*run.name), ("send test.echo", "process test.echo"));
        assert_eq!((&sent.span_kind, &run.span_kind), (&SpanKind::Producer, &SpanKind::Consumer));
        assert_eq!(run.links.links[0].span_context.span_id(), sent.span_context.span_id());
        assert_ne!(run.span_context.trace_id(), sent.span_context.trace_id());
        assert_eq!(run.status, Status::error("Bury: no"));
        let id = job.id().escape_ascii().to_string();
        assert!(run.attributes.iter().any(|attribute| attribute.value.as_str() == id));
    }
}

#[cfg(feature = "webhook")]
mod webhooks {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    use leaseq::{Outcome, State};
    use leaseq_jobs::{Job, NewJob, Retry, Webhook, WebhookSender};
    use serde_json::json;

    use crate::support::{Bench, PATIENCE, soon};

    const SECRET: &str = "a secret of a test";

    /// Answers one request after the other, and returns them.
    fn receiver(
        answers: &'static [&'static str],
    ) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?token=hidden", listener.local_addr().unwrap());
        let requests = std::thread::spawn(move || {
            let answer = |answer: &&str| {
                let (stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream);
                let (mut request, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    request.push_str(&line);
                    if line.trim().is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                request.push_str(&String::from_utf8(body).unwrap());
                let head =
                    format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                reader.into_inner().write_all(head.as_bytes()).unwrap();
                request
            };
            answers.iter().map(answer).collect()
        });
        (url, requests)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_webhook_is_signed_and_sent_until_it_arrives() {
        let bench = Bench::in_memory().await;
        let (url, requests) = receiver(&["500 Oops", "204 No Content"]);
        let job = NewJob::new(Webhook::new(url, json!({ "order": 17 })))
            .retry(Retry::new(3).base(std::time::Duration::ZERO))
            .retain(PATIENCE);
        let job = bench.producer().enqueue(job).await.unwrap();
        let sender = WebhookSender::allow_private(SECRET).unwrap();
        let worker = leaseq_jobs::Worker::new(&bench.client).webhooks(sender);
        soon(worker.run_until_idle()).await.unwrap();
        assert!(matches!(job.outcome(PATIENCE).await.unwrap(), Some(Outcome::Completed { .. })));
        let requests = requests.join().unwrap();
        let id = format!("webhook-id: {}\r\n", job.id().escape_ascii());
        for request in &requests {
            assert!(request.starts_with("POST /hook?token=hidden HTTP/1.1\r\n"), "{request}");
            assert!(
                request.contains(&id) && request.ends_with("\r\n\r\n{\"order\":17}"),
                "{request}"
            );
            assert!(request.contains("webhook-signature: v1,"), "{request}");
        }
        assert_eq!(requests.len(), 2);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn private_addresses_and_other_urls_are_refused() {
        let bench = Bench::in_memory().await;
        let sender = WebhookSender::new(SECRET).unwrap();
        let worker = leaseq_jobs::Worker::new(&bench.client).webhooks(sender);
        for (url, why) in [
            ("http://127.0.0.1:1/?token=hidden", "127.0.0.1 is no public address"),
            ("http://[::1]/", "is no public address"),
            ("https://169.254.169.254/latest", "is no public address"),
            ("http://localhost:1/?token=hidden", "the host has no public address"),
            ("ftp://example.org/", "neither http nor https"),
            ("https://ada:hidden@example.org/", "names a user"),
        ] {
            let job = NewJob::new(Webhook::new(url, json!({}))).retry(Retry::none());
            let job = bench.producer().enqueue(job).await.unwrap();
            soon(worker.run_until_idle()).await.unwrap();
            let item = bench.get(&job).await;
            assert_eq!(item.state, State::Dead, "{url}");
            assert!(item.last_error.contains(why), "{url}: {}", item.last_error);
            assert!(!item.last_error.contains("hidden"), "{}", item.last_error);
        }
        assert!(WebhookSender::new("short").is_err());
        assert_eq!(Webhook::NAME, "leaseq.webhook");
    }
}

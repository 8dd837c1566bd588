//! Style sheets and scripts. Their addresses contain their hash, so browsers keep them for ever.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::context::Context;
use crate::failure::Failure;

const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: [(&str, &str, &[u8]); 10] = [
    ("app.css", "text/css; charset=utf-8", include_bytes!("../assets/app.css")),
    ("app.js", SCRIPT, include_bytes!("../assets/app.js")),
    ("charts.js", SCRIPT, include_bytes!("../assets/charts.js")),
    ("draw.js", SCRIPT, include_bytes!("../assets/draw.js")),
    ("poll.js", SCRIPT, include_bytes!("../assets/poll.js")),
    ("search.js", SCRIPT, include_bytes!("../assets/search.js")),
    ("times.js", SCRIPT, include_bytes!("../assets/times.js")),
    ("uplot.css", "text/css; charset=utf-8", include_bytes!("../assets/uplot/uPlot.min.css")),
    ("uplot.js", SCRIPT, include_bytes!("../assets/uplot/uPlot.iife.min.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
];

/// One hash for all of them, so that they can refer to each other.
static HASH: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (name, _, content) in FILES {
        hash.update(name);
        hash.update(content);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
});

/// The address of a file, below the base path.
pub(crate) fn path(name: &str) -> String {
    format!("/assets/{}/{name}", *HASH)
}

pub(crate) async fn file(cx: Context) -> Result<Response, Failure> {
    let (hash, name) = (cx.param("hash"), cx.param("name"));
    let found = FILES.iter().find(|(known, ..)| *known == name && hash == *HASH);
    let (_, kind, content) = found.ok_or_else(|| Failure::missing("there is no such file"))?;
    let headers = [
        (header::CONTENT_TYPE, *kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, *content).into_response())
}

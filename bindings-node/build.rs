//! What the linker must be told for an addon of Node.js.

fn main() {
    napi_build::setup();
}

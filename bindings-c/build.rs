//! How the shared library is linked.

/// Part of the soname; goes up with `LEASEQ_ABI_VERSION`.
const ABI: u32 = 1;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libleaseq.so.{ABI}");
    // The library's threads live as long as the process: it must not be unloaded under them.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rustc-env=LEASEQ_ABI={ABI}");
}

//! What a worker starts as its children.

use std::time::Duration;

use leaseq_jobs::Children;

/// What is known about the children of a worker so far.
#[derive(Default)]
pub(crate) struct ChildProgram {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    /// 0, here and below: no limit.
    pub(crate) max_jobs: u64,
    pub(crate) max_memory: u64,
    pub(crate) memory_limit: u64,
    pub(crate) start_timeout: Option<Duration>,
}

impl ChildProgram {
    pub(crate) fn children(&self) -> Children {
        let mut children = Children::new(&self.program).args(&self.args);
        if self.max_jobs > 0 {
            children = children.max_jobs(self.max_jobs);
        }
        if self.max_memory > 0 {
            children = children.max_memory(self.max_memory);
        }
        if self.memory_limit > 0 {
            children = children.memory_limit(self.memory_limit);
        }
        self.start_timeout.into_iter().fold(children, Children::start_timeout)
    }
}

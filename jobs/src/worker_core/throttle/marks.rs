//! When a worker is throttled.

use leaseq::{Error, Result};

/// Percentages: at the high one, the worker ceases to lease; below the low one, it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Marks {
    /// 1 to 100.
    pub high: u8,
    /// 1 to `high`.
    pub low: u8,
}

impl Marks {
    /// These marks, in percent.
    pub fn new(high: u8, low: u8) -> Self {
        Marks { high, low }
    }

    /// `90:80`, the high mark first.
    fn parse(text: &str) -> Option<Marks> {
        let (high, low) = text.split_once(':')?;
        Some(Marks { high: high.trim().parse().ok()?, low: low.trim().parse().ok()? })
    }

    fn is_valid(self) -> bool {
        1 <= self.low && self.low <= self.high && self.high <= 100
    }
}

/// What a worker looks at before it leases. Handlers that run go on; jobs that no handler has started are given back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Throttle {
    /// The memory of the cgroup if that is limited (without the page cache that the kernel takes back first),
    /// otherwise of the machine.
    pub memory: Option<Marks>,
    /// The swap of the cgroup if that is limited, otherwise of the machine.
    pub swap: Option<Marks>,
    /// The fullest memory of the GPUs.
    pub gpu: Option<Marks>,
    /// A program and its arguments that print a percentage, one for each GPU, in a line each. It runs every 5 s. Default:
    /// `nvidia-smi`.
    pub gpu_command: Vec<String>,
}

/// The variables of the environment from which marks are read.
const MEMORY: &str = "LEASEQ_THROTTLE_MEMORY";
const SWAP: &str = "LEASEQ_THROTTLE_SWAP";
const GPU: &str = "LEASEQ_THROTTLE_GPU";
const GPU_COMMAND: &str = "LEASEQ_GPU_COMMAND";

impl Throttle {
    /// Without marks: nothing is looked at.
    pub fn new() -> Self {
        Throttle::default()
    }

    /// Throttles by memory. In percent: at the high mark no more jobs are leased, until less than the low one is used.
    pub fn memory(mut self, high: u8, low: u8) -> Self {
        self.memory = Some(Marks::new(high, low));
        self
    }

    /// Throttles by swap.
    pub fn swap(mut self, high: u8, low: u8) -> Self {
        self.swap = Some(Marks::new(high, low));
        self
    }

    /// Throttles by the memory of GPUs.
    pub fn gpu(mut self, high: u8, low: u8) -> Self {
        self.gpu = Some(Marks::new(high, low));
        self
    }

    /// Asks this program, with its arguments, for the percentage of the GPU.
    pub fn gpu_command(mut self, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.gpu_command = command.into_iter().map(Into::into).collect();
        self
    }

    /// As the environment says: `LEASEQ_THROTTLE_MEMORY`, `LEASEQ_THROTTLE_SWAP` and `LEASEQ_THROTTLE_GPU`, each as
    /// `HIGH:LOW` in percent, and `LEASEQ_GPU_COMMAND`, with words separated by spaces.
    ///
    /// # Errors
    /// `Invalid` for another text.
    pub fn from_env() -> Result<Self> {
        Throttle::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(read: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let marks = |name: &str| match read(name).filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => Marks::parse(&text).map(Some).ok_or_else(|| {
                Error::invalid(format_args!("{name}={text:?} is not HIGH:LOW in percent"))
            }),
        };
        let command = read(GPU_COMMAND).unwrap_or_default();
        Ok(Throttle {
            memory: marks(MEMORY)?,
            swap: marks(SWAP)?,
            gpu: marks(GPU)?,
            gpu_command: command.split_whitespace().map(str::to_owned).collect(),
        })
    }

    pub(crate) fn validate(&self) -> Result<()> {
        for (what, marks) in [("memory", self.memory), ("swap", self.swap), ("gpu", self.gpu)] {
            if let Some(marks) = marks
                && !marks.is_valid()
            {
                let Marks { high, low } = marks;
                return Err(Error::invalid(format_args!(
                    "marks {high}:{low} of the {what} are not two percentages with the higher one first"
                )));
            }
        }
        Ok(())
    }

    /// Whether there is anything to look at.
    pub(crate) fn is_needed(&self) -> bool {
        self.memory.is_some() || self.swap.is_some() || self.gpu.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_from_the_environment() {
        let read = |name: &str| match name {
            MEMORY => Some("90:80".to_owned()),
            SWAP => Some(String::new()),
            GPU_COMMAND => Some("gpu-usage --all".to_owned()),
            _ => None,
        };
        let throttle = Throttle::from_variables(read).unwrap();
        assert_eq!(throttle, Throttle::new().memory(90, 80).gpu_command(["gpu-usage", "--all"]));
        for wrong in ["90", "90:", "x:80", "300:80"] {
            let read = |name: &str| (name == GPU).then(|| wrong.to_owned());
            let error = Throttle::from_variables(read).unwrap_err().to_string();
            assert_eq!(error, format!("LEASEQ_THROTTLE_GPU={wrong:?} is not HIGH:LOW in percent"));
        }
    }

    #[test]
    fn marks_have_limits() {
        for (high, low) in [(80, 90), (101, 80), (80, 0)] {
            assert!(Throttle::new().swap(high, low).validate().is_err(), "{high}:{low}");
        }
        Throttle::new().swap(80, 80).validate().unwrap();
    }
}

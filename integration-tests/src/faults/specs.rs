//! Which processes work in a run.

use super::fault::Fault;
use super::place::Place;
use super::rng::SeededRng;
use super::terms::Terms;
use super::worker_pool::ProcessSpec;
use crate::conformance::testee::Language;

/// One process for each language, or as many as the fault wants, in all languages by turns. Some of them time out
/// early, so that unknown outcomes occur.
pub(super) fn specs(
    fault: &Fault,
    place: &Place,
    terms: &Terms,
    rng: &mut SeededRng,
) -> Vec<ProcessSpec> {
    let environment: Vec<_> = place.clock.iter().flat_map(|clock| clock.environment()).collect();
    let spec = |language: &Language| {
        let timeout_ms = rng.pick(fault.timeouts_ms);
        ProcessSpec {
            language: language.clone(),
            url: format!("{}timeout_ms={timeout_ms}", place.url()),
            environment: environment.clone(),
        }
    };
    let processes = if fault.processes > 0 { fault.processes } else { terms.languages.len() };
    terms.languages.iter().cycle().take(processes).map(spec).collect()
}

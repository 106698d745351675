//! When tables speak up about how full they are (OF 1.4.1 section 6.7).

use std::collections::BTreeMap;

use brimful_pipeline::Pipeline;

/// The tables that speak up.
#[derive(Debug, Default)]
pub(crate) struct Vacancies(BTreeMap<u8, Watched>);

/// At which percentages of free entries a table speaks up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Thresholds {
    pub(crate) down: u8,
    pub(crate) up: u8,
}

/// What a table says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Crossing {
    /// Less is free than the lower threshold.
    Down,
    /// More is free than the upper one.
    Up,
}

#[derive(Debug)]
struct Watched {
    thresholds: Thresholds,
    awaits: Crossing,
}

/// How much of a table is free, in percent.
pub(crate) fn vacancy(pipeline: &Pipeline, table: u8) -> u8 {
    let most = pipeline.limits().entries.max(1);
    let free = most.saturating_sub(pipeline.len(table));
    (free * 100 / most) as u8
}

impl Vacancies {
    /// Has a table speak up, or be silent.
    pub(crate) fn set(&mut self, table: u8, thresholds: Option<Thresholds>, pipeline: &Pipeline) {
        let Some(thresholds) = thresholds else {
            self.0.remove(&table);
            return;
        };
        let awaits = if vacancy(pipeline, table) < thresholds.up {
            Crossing::Up
        } else {
            Crossing::Down
        };
        self.0.insert(table, Watched { thresholds, awaits });
    }

    /// When a table speaks up, if it does.
    pub(crate) fn of(&self, table: u8) -> Option<Thresholds> {
        self.0.get(&table).map(|watched| watched.thresholds)
    }

    /// Whether no table speaks up.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What tables have to say now.
    pub(crate) fn look(&mut self, pipeline: &Pipeline) -> Vec<(u8, Crossing)> {
        let mut said = Vec::new();
        for (table, watched) in &mut self.0 {
            let vacancy = vacancy(pipeline, *table);
            let has_crossed = match watched.awaits {
                Crossing::Down => vacancy < watched.thresholds.down,
                Crossing::Up => vacancy > watched.thresholds.up,
            };
            if has_crossed {
                said.push((*table, watched.awaits));
                watched.awaits = match watched.awaits {
                    Crossing::Down => Crossing::Up,
                    Crossing::Up => Crossing::Down,
                };
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use brimful_openflow::{FieldMatch, FlowMod, Match, MatchField};
    use brimful_pipeline::{Limits, delete_everything};

    use super::*;

    fn fill(pipeline: &mut Pipeline, ports: std::ops::Range<u128>) {
        for value in ports {
            let field = FieldMatch {
                field: MatchField::InPort,
                value,
                mask: None,
            };
            let matching = Match { fields: vec![field] };
            pipeline.flow_mod(&FlowMod::add(0, 1, matching, Vec::new()), 0).unwrap();
        }
    }

    #[test]
    fn a_table_speaks_up_once_a_crossing() {
        let mut pipeline = Pipeline::new(Limits { tables: 1, entries: 10 });
        let mut vacancies = Vacancies::default();
        vacancies.set(0, Some(Thresholds { down: 30, up: 60 }), &pipeline);
        fill(&mut pipeline, 0..7);
        assert_eq!(vacancies.look(&pipeline), []);
        fill(&mut pipeline, 7..8);
        assert_eq!(vacancies.look(&pipeline), [(0, Crossing::Down)]);
        assert_eq!(vacancies.look(&pipeline), []);
        pipeline.flow_mod(&delete_everything(), 0).unwrap();
        assert_eq!(vacancies.look(&pipeline), [(0, Crossing::Up)]);
        fill(&mut pipeline, 0..5);
        assert_eq!(vacancies.look(&pipeline), []);
    }

    #[test]
    fn a_table_that_is_full_already_waits_to_be_emptier() {
        let mut pipeline = Pipeline::new(Limits { tables: 1, entries: 10 });
        fill(&mut pipeline, 0..9);
        let mut vacancies = Vacancies::default();
        vacancies.set(0, Some(Thresholds { down: 30, up: 60 }), &pipeline);
        assert_eq!(vacancies.look(&pipeline), []);
        vacancies.set(0, None, &pipeline);
        assert!(vacancies.is_empty());
    }
}

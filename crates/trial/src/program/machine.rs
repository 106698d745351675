use std::fs;

/// Less of the processors' time taken by others on the same hardware is nothing to speak of.
const NOTABLE_STEAL: f64 = 0.01;
/// Columns of a line of `/proc/stat` that add up to all time: user, nice, system, idle, iowait, irq, softirq, steal.
const COLUMNS: usize = 8;
const STEAL: usize = 7;

/// How busy the machine is, for people whose trials it spoils.
pub struct Machine {
    before: Option<ProcessorTime>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct ProcessorTime {
    all: u64,
    stolen: u64,
    processors: usize,
}

impl Machine {
    /// Begins to watch.
    pub fn watch() -> Self {
        Self {
            before: processor_time(),
        }
    }

    /// What may help a tester that was off schedule, with what speaks for it.
    pub fn hint(&self) -> String {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        hint(load.split(' ').next(), self.before.zip(processor_time()))
    }
}

fn hint(load: Option<&str>, times: Option<(ProcessorTime, ProcessorTime)>) -> String {
    let advice = "the tester could not keep up: end other programs, give it processors of its own (--cpu), or lower \
                  --max-load";
    let mut parts = vec![advice.to_owned()];
    if let Some((before, after)) = times {
        if let Some(load) = load.filter(|load| !load.is_empty()) {
            parts.push(format!("the load average is {load} on {} processors", after.processors));
        }
        let stolen = after.stolen.saturating_sub(before.stolen) as f64;
        let share = stolen / after.all.saturating_sub(before.all).max(1) as f64;
        if share >= NOTABLE_STEAL {
            let percent = share * 100.0;
            parts.push(format!("the hypervisor gave {percent:.0} % of their time to others"));
        }
    }
    parts.join("; ")
}

fn processor_time() -> Option<ProcessorTime> {
    parse(&fs::read_to_string("/proc/stat").ok()?)
}

fn parse(table: &str) -> Option<ProcessorTime> {
    let mut lines = table.lines();
    let sums = lines.next()?.strip_prefix("cpu ")?;
    let sums: Vec<u64> = sums.split_whitespace().map_while(|text| text.parse().ok()).collect();
    Some(ProcessorTime {
        all: sums.get(..COLUMNS)?.iter().sum(),
        stolen: sums[STEAL],
        processors: lines.take_while(|line| line.starts_with("cpu")).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_states_what_was_seen_and_nothing_else() {
        let before = parse("cpu  10 0 10 70 0 0 0 10 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\n").unwrap();
        let expected = ProcessorTime {
            all: 100,
            stolen: 10,
            processors: 2,
        };
        assert_eq!(before, expected);
        let after = |all, stolen| ProcessorTime { all, stolen, ..before };
        let stolen = hint(Some("3.25"), Some((before, after(300, 40))));
        assert!(
            stolen.ends_with(
                "; the load average is 3.25 on 2 processors; the hypervisor gave 15 % of their time to others"
            ),
            "{stolen}"
        );
        assert!(hint(Some("0.10"), Some((before, after(300, 11)))).ends_with("0.10 on 2 processors"));
        assert!(hint(None, None).ends_with("or lower --max-load"));
    }

    #[test]
    fn tables_that_say_less_are_no_tables() {
        for table in ["", "cpu", "cpu  1 2 3\n", "intr 5\n"] {
            assert_eq!(parse(table), None, "{table:?}");
        }
    }
}

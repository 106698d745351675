use std::fs;

/// Less of the processors' time taken by others on the same hardware does not matter.
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
        hint(load_average().as_deref(), self.before.zip(processor_time()))
    }

    /// What speaks for others using the machine, if anything does.
    pub fn busy(&self) -> Option<String> {
        let load = load_average()?;
        let times = self.before.zip(processor_time())?;
        is_busy(&load, times).then(|| signs(Some(&load), times).join("; "))
    }
}

fn load_average() -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ')
        .next()
        .filter(|load| !load.is_empty())
        .map(str::to_owned)
}

/// More to run than processors, or processors that others were given.
fn is_busy(load: &str, times: (ProcessorTime, ProcessorTime)) -> bool {
    let processors = times.1.processors as f64;
    load.parse::<f64>().is_ok_and(|load| load > processors) || stolen_share(times) >= NOTABLE_STEAL
}

fn stolen_share((before, after): (ProcessorTime, ProcessorTime)) -> f64 {
    let stolen = after.stolen.saturating_sub(before.stolen) as f64;
    stolen / after.all.saturating_sub(before.all).max(1) as f64
}

fn hint(load: Option<&str>, times: Option<(ProcessorTime, ProcessorTime)>) -> String {
    let advice = "the tester could not keep up: end other programs, give it processors of its own (--cpu), or lower \
                  --max-load";
    let mut parts = vec![advice.to_owned()];
    if let Some(times) = times {
        parts.extend(signs(load, times));
    }
    parts.join("; ")
}

fn signs(load: Option<&str>, times: (ProcessorTime, ProcessorTime)) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(load) = load {
        parts.push(format!(
            "the load average is {load} on {} processors",
            times.1.processors
        ));
    }
    let share = stolen_share(times);
    if share >= NOTABLE_STEAL {
        let percent = share * 100.0;
        parts.push(format!("the hypervisor gave {percent:.0} % of their time to others"));
    }
    parts
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
    fn a_machine_is_busy_with_more_to_run_than_processors_or_time_given_to_others() {
        let times = |stolen| {
            let before = ProcessorTime {
                all: 100,
                stolen: 0,
                processors: 2,
            };
            let after = ProcessorTime {
                all: 200,
                stolen,
                ..before
            };
            (before, after)
        };
        assert!(!is_busy("1.90", times(0)));
        assert!(is_busy("2.10", times(0)));
        assert!(is_busy("0.10", times(2)));
    }

    #[test]
    fn tables_that_say_less_are_no_tables() {
        for table in ["", "cpu", "cpu  1 2 3\n", "intr 5\n"] {
            assert_eq!(parse(table), None, "{table:?}");
        }
    }
}

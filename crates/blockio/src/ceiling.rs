//! The greatest load that the tester alone keeps up with.

/// The loads at which the tester's own ceiling is looked for begin here.
const FIRST_CEILING: f64 = 50_000.0;
/// Halvings of the last doubling.
const BISECTIONS: u32 = 3;
/// Trials at a load until one is on schedule.
const CEILING_TRIES: u32 = 5;
/// Once the tester has fallen behind in this many of them, the load is too much for it.
const MOST_BEHIND: u32 = 2;

/// How the tester kept its schedule in a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    OnSchedule,
    /// By other work on the machine: that spoils trials at any load, and is judged in those of the device.
    HeldUp,
    FallsBehind,
}

/// Whether the tester keeps a load up, in trials that `attempt` makes; it does not where they are called off.
pub(crate) fn keeps_up<E>(mut attempt: impl FnMut() -> Result<Option<Pace>, E>) -> Result<bool, E> {
    let mut behind = 0;
    for _ in 0..CEILING_TRIES {
        match attempt()? {
            Some(Pace::OnSchedule) => return Ok(true),
            Some(Pace::HeldUp) => {}
            Some(Pace::FallsBehind) => behind += 1,
            None => return Ok(false),
        }
        if behind == MOST_BEHIND {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The highest load that is kept up, at most `most`; nothing where none that was tried is.
pub(crate) fn find_ceiling<E>(most: f64, mut keeps_up: impl FnMut(f64) -> Result<bool, E>) -> Result<Option<f64>, E> {
    let (mut good, mut bad) = (None, FIRST_CEILING.min(most));
    while keeps_up(bad)? {
        good = Some(bad);
        if bad >= most {
            return Ok(good);
        }
        bad = (2.0 * bad).min(most);
    }
    for _ in 0..BISECTIONS {
        let middle = good.map_or(bad / 2.0, |good| f64::midpoint(good, bad));
        if keeps_up(middle)? {
            good = Some(middle);
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling_of(capacity: f64, most: f64) -> Option<f64> {
        find_ceiling(most, |load| Ok::<_, ()>(load <= capacity)).unwrap()
    }

    #[test]
    fn a_ceiling_is_found_by_doubling_and_three_halvings() {
        assert_eq!(ceiling_of(130_000.0, 1e9), Some(125_000.0));
        assert_eq!(ceiling_of(40_000.0, 1e9), Some(37_500.0));
        assert_eq!(ceiling_of(7_000.0, 1e9), Some(6_250.0));
        assert_eq!(ceiling_of(1e9, 300_000.0), Some(300_000.0));
        assert_eq!(ceiling_of(5_000.0, 1e9), None);
    }

    fn kept_up(attempts: &[Option<Pace>]) -> (bool, usize) {
        let mut left = attempts.iter();
        let found = keeps_up(|| Ok::<_, ()>(*left.next().expect("no more attempts")));
        (found.unwrap(), attempts.len() - left.len())
    }

    #[test]
    fn a_load_is_too_much_once_the_tester_falls_behind_twice_and_not_because_it_is_held_up() {
        let [on, held, behind] = [Pace::OnSchedule, Pace::HeldUp, Pace::FallsBehind].map(Some);
        assert_eq!(kept_up(&[on]), (true, 1));
        assert_eq!(kept_up(&[behind, held, on]), (true, 3));
        assert_eq!(kept_up(&[held; 5]), (true, 5));
        assert_eq!(kept_up(&[held, behind, held, behind, on]), (false, 4));
        assert_eq!(kept_up(&[held, None, on]), (false, 2));
    }
}

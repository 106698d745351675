//! Specifications as text: what is read, what is refused and in which words.

#![allow(clippy::unwrap_used)]

use brimful_sim::{Kind, KindInfo, ParameterInfo, Quantity, SpecError, SystemSpec};
use proptest::prelude::*;

#[track_caller]
fn check(text: &str, canonical: &str) {
    let spec: SystemSpec = text.parse().unwrap();
    assert_eq!(spec.to_string(), canonical);
    assert_eq!(canonical.parse(), Ok(spec));
}

#[track_caller]
fn check_error(text: &str, message: &str) {
    let error = text.parse::<SystemSpec>().unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn every_kind_is_its_own_shortest_text() {
    for info in SystemSpec::kinds() {
        check(info.name, info.name);
        assert_eq!(SystemSpec::new(info.kind).to_string(), info.name);
    }
}

#[test]
fn parameters_are_written_in_one_way() {
    check(
        " soft-knee , seed=07, capacity=1000k,softness=1%",
        "soft-knee,capacity=1Mpps,seed=7,softness=0.01",
    );
    check("noisy,jitter=0.1%,rest=2000ms,seed=1", "noisy");
    check(
        "sharp,overhead=500ms,overhead-counts=yes",
        "sharp,overhead=0.5s,overhead-counts=yes",
    );
    check("tester-limit,limit=1.5e6", "tester-limit,limit=1.5Mpps");
}

#[test]
fn mistakes_are_named() {
    check_error(
        "softknee,seed=1",
        "unknown kind \"softknee\" (did you mean \"soft-knee\"?); kinds: sharp, soft-knee, noisy, stalls, vhost, \
         livelock, tester-limit, inversion, flat-loss, buffer",
    );
    check_error(
        "sharp,capcity=1M",
        "unknown parameter \"capcity\" of sharp (did you mean \"capacity\"?); parameters: capacity, seed, link, \
         overhead, overhead-counts, rest, delay",
    );
    check_error(
        "sharp,capacity=1Mbps",
        "capacity=\"1Mbps\" is not a rate above 0 and up to 1e12 such as 1.5Mpps, 1.5M or 1500000",
    );
    check_error(
        "noisy,dips=3",
        "dips=\"3\" is not a share from 0 to 1 such as 0.5% or 0.005",
    );
    check_error("sharp,seed", "\"seed\" is not written key=value");
    check_error("sharp,", "\"\" is not written key=value");
    check_error("sharp,seed=1,seed=2", "seed is given twice");
}

#[test]
fn values_that_contradict_each_other_are_refused() {
    check_error(
        "inversion,band-from=80%",
        "band-from=\"0.8\" is not at most band-to, which is 0.7",
    );
    check_error(
        "stalls,stall-most=10ms",
        "stall-least=\"0.06s\" is not at most stall-most, which is 0.01s",
    );
    check_error("stalls,stall-most=2s", "stall-most=\"2s\" is not 1 s or less");
    check_error("vhost,dwell=0s", "dwell=\"0s\" is not 1 s or more");
    check_error("noisy,dip-length=0s", "dip-length=\"0s\" is not 1 s or more");
    check_error("stalls,stall-every=0s", "stall-every=\"0s\" is not 1 s or more");
}

#[test]
fn nothing_similar_is_suggested_for_what_is_unlike_anything() {
    let Err(SpecError::UnknownKind { hint, .. }) = "x".parse::<SystemSpec>() else {
        panic!("x is no kind");
    };
    assert_eq!(hint, "");
}

#[test]
fn capacity_is_drawn_from_the_seed_within_the_link_rate() {
    let spec = SystemSpec::new(Kind::Sharp);
    let capacities: Vec<f64> = (0..1000)
        .map(|seed| spec.clone().with_seed(seed).capacity().per_second())
        .collect();
    let least = capacities.iter().copied().fold(f64::INFINITY, f64::min);
    let most = capacities.iter().copied().fold(0.0, f64::max);
    assert!((4.96e6..5.1e6).contains(&least), "{least}");
    assert!((13.2e6..13.4e6).contains(&most), "{most}");
    assert!(capacities.iter().all(|capacity| capacity.fract() == 0.0));
}

#[test]
fn every_parameter_is_described() {
    for info in SystemSpec::kinds() {
        assert!(!info.description.is_empty());
        for parameter in info.parameters() {
            assert!(!parameter.description.is_empty(), "{}", parameter.name);
            assert!(!parameter.default.to_string().is_empty());
        }
    }
    assert_eq!(KindInfo::common_parameters().len(), 7);
}

/// A value of this quantity, as a person might write it, from any number.
fn written(quantity: Quantity, number: u32) -> String {
    match quantity {
        Quantity::Load | Quantity::Rate => format!("{}.{}k", number % 5000 + 1, number % 10),
        Quantity::Span => format!("{}ms", number % 100_000),
        Quantity::Share => format!("{}%", f64::from(number % 1001) / 10.0),
        Quantity::Whole => number.to_string(),
        Quantity::YesNo => ["yes", "no"][number as usize % 2].to_owned(),
    }
}

proptest! {
    #[test]
    fn whatever_is_read_survives_being_written(
        kind in 0..SystemSpec::kinds().len(),
        numbers in prop::collection::vec(prop::option::of(any::<u32>()), 12),
    ) {
        let info = &SystemSpec::kinds()[kind];
        let given: String = info
            .parameters()
            .zip(&numbers)
            .filter_map(|(parameter, number): (&ParameterInfo, _)| {
                number.map(|number| format!(",{}={}", parameter.name, written(parameter.quantity, number)))
            })
            .collect();
        match format!("{}{given}", info.name).parse::<SystemSpec>() {
            Ok(spec) => {
                let text = spec.to_string();
                let again: SystemSpec = text.parse().unwrap();
                prop_assert_eq!(&again, &spec);
                prop_assert_eq!(again.to_string(), text);
            }
            Err(error) => prop_assert!(matches!(error, SpecError::BadValue { .. }), "{error}"),
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "(sharp|noisy|stalls|),?[a-z=,.%0-9 -]{0,40}") {
        let _ = text.parse::<SystemSpec>();
    }
}

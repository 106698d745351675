use super::*;
use crate::settings::Link;
use brimful_netdev::PacketRing;
use serde_json::{Value, json};

const PACKET: BackEnd = BackEnd::Packet(PacketRing::Slots);

fn settings(arguments: &[&str]) -> Result<Settings, String> {
    let all = ["brimful-tester"].iter().chain(arguments);
    Options::try_parse_from(all)
        .map_err(|error| error.to_string())?
        .settings()
}

fn links(speeds: &[Option<u64>]) -> Vec<Link> {
    let link = |&speed| Link {
        speed,
        is_zero_copy: false,
    };
    speeds.iter().map(link).collect()
}

#[test]
fn defaults_describe_themselves() {
    let settings = settings(&["--port", "a", "--port", "b"]).unwrap();
    let description = settings.description(PACKET, &links(&[None; 2]));
    assert!((description.conversion_factor - 2.0).abs() < 1e-12);
    assert_eq!(description.traffic["ports"][1]["source_ip"], "198.19.0.2");
    assert_eq!(description.traffic["frame_sizes"], json!([64]));
    assert!(description.contract.contains("500 ms"));
    assert!(!description.traffic.contains_key("faults"));
}

#[test]
fn frames_are_as_small_as_what_was_asked_allows() {
    for (more, smallest) in [
        (&["--vlan=5"][..], 68),
        (&["--ip=6"], 84),
        (&["--ip=6", "--vlan=5"], 88),
    ] {
        let arguments = [&["--port", "a", "--port", "b"], more].concat();
        let traffic = settings(&arguments)
            .unwrap()
            .description(PACKET, &links(&[None; 2]))
            .traffic;
        assert_eq!(traffic["frame_sizes"], json!([smallest]));
    }
}

#[test]
fn frames_are_described_without_interfaces() {
    let both = json!([[0, 1], [1, 0]]);
    for (more, largest, has_vlan_tags, ways) in [
        (&[][..], 64, false, both.clone()),
        (&["--frame-size=imix"], 1518, false, both.clone()),
        (&["--frame-size=9216", "--vlan=5"], 9216, true, both),
        (&["--direction=uni"], 64, false, json!([[0, 1]])),
        (
            &["--port=c", "--pattern=many-to-one"],
            64,
            false,
            json!([[1, 0], [2, 0]]),
        ),
    ] {
        let arguments = [&["--port", "a", "--port", "b"], more].concat();
        let expected = json!({"largest_frame_size": largest, "has_vlan_tags": has_vlan_tags, "ways": ways});
        assert_eq!(settings(&arguments).unwrap().frames().unwrap(), expected);
    }
}

#[test]
fn the_link_limits_the_load_where_its_speed_is_known() {
    const GIGABIT: Option<u64> = Some(1_000_000_000);
    let described = |more: &[&str], speeds: &[Option<u64>]| {
        let arguments = [&["--port", "a", "--port", "b"], more].concat();
        settings(&arguments).unwrap().description(PACKET, &links(speeds))
    };
    let near = |found: &Value, expected: f64| (found.as_f64().unwrap() - expected).abs() < 1.0;
    let slow_side = described(&[], &[GIGABIT, Some(100_000_000)]);
    let ports = &slow_side.traffic["ports"];
    assert!(near(&ports[0]["line_rate_fps"], 1_488_095.0), "{ports}");
    assert!(near(&ports[1]["line_rate_fps"], 148_809.5), "{ports}");
    assert!(near(&slow_side.max_load.into(), 148_809.5));
    let promised = described(&["--max-load", "1000"], &[GIGABIT, None]);
    assert_eq!(promised.max_load, Some(1000.0));
    assert!(promised.traffic["ports"][1]["line_rate_fps"].is_null());
    assert_eq!(described(&[], &[None; 2]).max_load, None);
    // The slower side sends a twentieth, so that the other one is the limit.
    let uneven = described(&["--port-shares", "100%/5%"], &[GIGABIT, Some(100_000_000)]);
    assert!(near(&uneven.max_load.into(), 1_488_095.0));
    // Twelve frames of 4342 bytes with 240 bytes between them.
    let mix = described(&["--frame-size=imix"], &[GIGABIT, None]);
    assert!(near(&mix.max_load.into(), 1e9 * 12.0 / (4582.0 * 8.0)));
}

#[test]
fn many_ports_say_who_sends_to_whom() {
    let arguments: Vec<_> = "--port a --port b --port c --pattern flows:1>3=50%,2>3 --ip=6"
        .split(' ')
        .collect();
    let description = settings(&arguments).unwrap().description(PACKET, &links(&[None; 3]));
    assert!((description.conversion_factor - 1.5).abs() < 1e-12);
    assert_eq!(description.load_scope, "per port that sends");
    assert_eq!(description.traffic["pattern"], "flows:1>3=50%,2>3");
    assert!(!description.traffic.contains_key("direction"));
    let ports = description.traffic["ports"].as_array().unwrap();
    let sends_to: Vec<_> = ports.iter().map(|port| &port["sends_to"]).collect();
    assert_eq!(sends_to, [&json!(["c"]), &json!(["c"]), &json!([])]);
    let addresses: Vec<_> = ports.iter().map(|port| (&port["mac"], &port["source_ip"])).collect();
    assert_eq!(addresses[2], (&json!("02:62:72:69:00:0c"), &json!("2001:2:0:2::2")));
}

#[test]
fn faults_are_in_the_record() {
    let fault = "a/send:drop=0.5";
    let settings = settings(&["--port", "a", "--port", "b", "--fault", fault]).unwrap();
    assert_eq!(
        settings.description(PACKET, &links(&[None; 2])).traffic["faults"],
        json!([fault])
    );
}

#[test]
fn addresses_are_those_of_the_ports() {
    let text = "--port a --port b --ip 6 --ip=4 --source-ip 10.0.0.1 --destination-ip 10.1.0.1 \
                --source-ip 10.1.0.1 --destination-ip 10.0.0.9";
    let arguments: Vec<_> = text.split_whitespace().collect();
    let ports = settings(&arguments)
        .unwrap()
        .description(PACKET, &links(&[None; 2]))
        .traffic["ports"]
        .clone();
    assert_eq!(
        (&ports[0]["source_ip"], &ports[0]["destination_ip"]),
        (&json!("10.0.0.1"), &json!("10.1.0.1"))
    );
    assert_eq!(
        (&ports[1]["source_ip"], &ports[1]["destination_ip"]),
        (&json!("10.1.0.1"), &json!("10.0.0.9"))
    );
}

#[test]
fn ports_without_copies_are_named_and_no_others() {
    let link = |is_zero_copy| Link {
        speed: None,
        is_zero_copy,
    };
    let settings = settings(&["--port", "ta", "--port", "tb"]).unwrap();
    let ports = settings.description(PACKET, &[link(true), link(false)]).traffic["ports"].clone();
    assert_eq!(
        (&ports[0]["zero_copy"], ports[1].get("zero_copy")),
        (&json!(true), None)
    );
}

#[test]
fn every_refusal_says_what_to_give() {
    let two = ["--port", "a", "--port", "b"];
    for (more, expected) in [
        (&["--port", "c"][..], "3 ports leave one over"),
        (&["--frame-size", "63"], "give --frame-size 64"),
        (&["--frame-size", "9217"], "give --frame-size 9216"),
        (
            &["--frame-size", "64", "--ip", "6"],
            "between 84 and 9216 bytes (headers and test stamp need their room): give --frame-size 84",
        ),
        (&["--frame-size", "64", "--vlan", "5"], "between 68 and 9216"),
        (&["--vlan", "4095"], "--vlan"),
        (&["--flows", "0"], "--flows"),
        (&["--source-mac", "02:00:00:00:00:01"], "--source-mac is given 1 times"),
        (
            &["--source-mac", "03:00:00:00:00:01", "--source-mac", "02:00:00:00:00:01"],
            "group address",
        ),
        (&["--source-ip", "::1", "--source-ip", "::2"], "--ip"),
        (&["--max-load", "0"], "--max-load"),
        (&["--fault", "c/send:drop=1"], "no --port c"),
        (&["--straggler-wait", "soon"], "--straggler-wait"),
        (
            &["--senders", "4", "--flows", "2", "--fault", "a/send:drop=1"],
            "--fault: threads that share a port",
        ),
    ] {
        let arguments: Vec<_> = two.iter().chain(more).copied().collect();
        let message = settings(&arguments).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    assert!(settings(&["--port", "a"]).unwrap_err().contains("give it twice"));
    assert!(
        settings(&["--port", "a", "--port", "a"])
            .unwrap_err()
            .contains("different interfaces")
    );
}

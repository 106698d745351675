/// Whether what belongs nowhere else goes out there, by the text of `/proc/net/route` or `/proc/net/ipv6_route`.
pub(crate) fn has_default_route(tables: [&str; 2], name: &str) -> bool {
    const ANY_V4: &str = "00000000";
    let [v4, v6] = tables.map(|table| table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()));
    // Interface, destination, gateway, flags, references, uses, metric, mask.
    let mut v4 = v4.filter(|columns| columns.first() == Some(&name));
    // Destination and its length, source and its length, gateway, metric, references, uses, flags, interface.
    let mut v6 = v6.filter(|columns| columns.last() == Some(&name));
    v4.any(|columns| columns.get(1) == Some(&ANY_V4) && columns.get(7) == Some(&ANY_V4))
        || v6.any(|columns| columns.get(1) == Some(&"00"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_routes_are_those_of_the_interface() {
        let v4 = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
            eth0 00000000 0102A8C0 0003 0 0 0 00000000 0 0 0\neth1 0002A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n";
        let zeros = "0".repeat(32);
        let v6 = format!("{zeros} 00 {zeros} 00 {zeros} 00000400 00000001 00000000 00000003    eth2\n");
        let found = ["eth0", "eth1", "eth2", "eth"].map(|name| has_default_route([v4, &v6], name));
        assert_eq!(found, [true, false, true, false]);
    }
}

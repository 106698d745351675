use std::sync::LazyLock;
static VALUES: LazyLock<Vec<(String, f64)>> = LazyLock::new(|| {
    std::env::var("TUNE")
        .unwrap_or_default()
        .split(',')
        .filter_map(|p| {
            let (a, b) = p.split_once('=')?;
            Some((a.to_owned(), b.parse().ok()?))
        })
        .collect()
});
pub(super) fn tune(name: &str, default: f64) -> f64 {
    VALUES.iter().find(|(n, _)| n == name).map_or(default, |(_, v)| *v)
}

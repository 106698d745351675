//! Synthetic flow tables, in the specification language of linc's generator.

use brimful_openflow::{FieldMatch, MatchField};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::place::{Flaw, TableError, Text};
use super::tab::{self, Term, Terms, Value};

/// Where frames come from and where they go, each way.
const DIRECTIONS: [(u32, u32); 2] = [(1, 2), (2, 1)];
const DEFAULT_FLOWS: u32 = 100;
const ARP: u128 = 0x0806;

/// What a table is to look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Specification {
    /// Its name.
    pub name: String,
    flows: u32,
    fields: Vec<RandomField>,
    allows_arp: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct RandomField {
    probability: f64,
    field: MatchField,
    mask: Option<u128>,
}

impl Specification {
    /// Reads a file of `{TableName,[Option,...]}.`, a table each.
    ///
    /// # Errors
    /// At the first option that there is not.
    pub fn read(file: &str, text: &str) -> Result<Vec<Self>, TableError> {
        let source = Text { file, text };
        let read = || {
            let mut terms = Terms::of(text);
            let mut tables = Vec::new();
            while let Some(term) = terms.next()? {
                tables.push(table(&term)?);
            }
            Ok(tables)
        };
        read().map_err(|flaw| source.error(flaw))
    }

    /// The table as a `.tab` file of the first generation, always the same for a seed: both ways, random entries that
    /// drop, then ARP, then all else.
    pub fn generate(&self, seed: u64) -> String {
        let mut random = SplitMix64::seed_from_u64(seed);
        let mut lines = Vec::new();
        for (from, to) in DIRECTIONS {
            let in_port = exact(MatchField::InPort, u128::from(from));
            for _ in 0..self.flows {
                let mut fields = vec![in_port];
                fields.extend(self.fields.iter().filter_map(|field| field.draw(&mut random)));
                lines.push(tab::write_entry(&fields, None));
            }
            if self.allows_arp {
                lines.push(tab::write_entry(&[in_port, exact(MatchField::EthType, ARP)], Some(to)));
            }
            lines.push(tab::write_entry(&[in_port], Some(to)));
        }
        lines.join("\n") + "\n"
    }
}

impl RandomField {
    fn draw(&self, random: &mut SplitMix64) -> Option<FieldMatch> {
        let is_there: f64 = random.random();
        let value = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        // Without a tag no tagged frame could match.
        let bits = if self.field == MatchField::VlanVid {
            0xfff
        } else {
            self.field.largest()
        };
        let value = value & bits & self.mask.unwrap_or(u128::MAX);
        let said = FieldMatch {
            field: self.field,
            value,
            mask: self.mask,
        };
        (is_there < self.probability).then_some(said)
    }
}

fn exact(field: MatchField, value: u128) -> FieldMatch {
    let mask = None;
    FieldMatch { field, value, mask }
}

fn table<'t>(term: &Term<'t>) -> Result<Specification, Flaw<'t>> {
    let Some((name, [options])) = term.tagged() else {
        return Err(term.flaw("a table is {TableName,[Option,...]}"));
    };
    let mut table = Specification {
        name: name.to_owned(),
        flows: DEFAULT_FLOWS,
        fields: Vec::new(),
        allows_arp: false,
    };
    for option in options
        .list()
        .ok_or_else(|| options.flaw("the options must be a list"))?
    {
        match (option.atom(), option.tagged()) {
            (Some("allow_arp"), _) => table.allows_arp = true,
            (_, Some(("num_flows", [number]))) => table.flows = number.number_as("num_flows")?,
            (_, Some(("match", [rule]))) => table.fields.push(random_field(rule)?),
            _ => return Err(option.flaw("there are the options num_flows, match and allow_arp")),
        }
    }
    Ok(table)
}

fn random_field<'t>(term: &Term<'t>) -> Result<RandomField, Flaw<'t>> {
    let Value::Tuple(parts) = &term.value else {
        return Err(term.flaw("a match is {Probability,Field} or {Probability,Field,Mask}"));
    };
    let (probability, name, mask) = match parts.as_slice() {
        [probability, name] => (probability, name, None),
        [probability, name, mask] if mask.atom() == Some("nomask") => (probability, name, None),
        [probability, name, mask] => (probability, name, Some(mask)),
        _ => return Err(term.flaw("a match is {Probability,Field} or {Probability,Field,Mask}")),
    };
    let chance = match probability.value {
        Value::Float(chance) => chance,
        Value::Integer(chance) => chance as f64,
        _ => f64::NAN,
    };
    if !(0.0..=1.0).contains(&chance) {
        return Err(probability.flaw("a probability is a number from 0.0 to 1.0"));
    }
    let field = tab::field_named(name.atom().unwrap_or(name.part), name)?;
    let mask = mask.map(|mask| tab::value_of(field, mask)).transpose()?;
    Ok(RandomField {
        probability: chance,
        field,
        mask,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{Change, ovs};

    const TEST3: &str = "{test3,[{num_flows,128},{match,{1.0,eth_dst,16#ffffff}},{match,{0.5,vlan_vid,nomask}},\n\
        {match,{0.1,ip_dscp}},allow_arp]}.";

    fn generate(text: &str, seed: u64) -> String {
        Specification::read("spec", text).unwrap()[0].generate(seed)
    }

    #[test]
    fn the_table_has_the_shape_of_the_specification() {
        let text = generate(TEST3, 1);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2 * (128 + 2));
        assert!(
            lines
                .iter()
                .take(128)
                .all(|line| line.contains("{in_port,1}") && line.contains(",16#ffffff}"))
        );
        let tagged = lines.iter().filter(|line| line.contains("vlan_vid")).count();
        assert!((90..170).contains(&tagged), "{tagged}");
        assert_eq!(
            lines[128],
            "{flow,[{in_port,1},{eth_type,2054}],{instr,undefined,undefined,{write,[{output,2}]},undefined,undefined}}."
        );
        assert_eq!(
            lines[259],
            "{flow,[{in_port,2}],{instr,undefined,undefined,{write,[{output,1}]},undefined,undefined}}."
        );
    }

    #[test]
    fn a_seed_gives_one_table() {
        assert_eq!(generate(TEST3, 7), generate(TEST3, 7));
        assert_ne!(generate(TEST3, 7), generate(TEST3, 8));
        assert_eq!(generate("{t,[{num_flows,0}]}.", 1).lines().count(), 2);
        assert_eq!(generate("{t,[]}.", 1).lines().count(), 202);
    }

    #[test]
    fn it_can_be_had_in_either_syntax() {
        let tables = tab::read("test3.tab", &generate(TEST3, 1), 0).unwrap();
        let again = ovs::read("test3.flows", &ovs::write_tables(&tables)).unwrap();
        let values = |changes: &[super::super::Placed<Change>]| {
            changes.iter().map(|change| change.value.clone()).collect::<Vec<_>>()
        };
        assert_eq!(values(&tables.changes), values(&again.changes));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, expected) in [
            ("{t,[{num_flows,x}]}.", "spec:1:16: num_flows must be"),
            (
                "{t,[{match,{2,eth_dst}}]}.",
                "a probability is a number from 0.0 to 1.0",
            ),
            ("{t,[{match,{0.5,foo}}]}.", "there is no match field foo"),
            ("{t,[turbo]}.", "there are the options num_flows, match and allow_arp"),
            ("t.", "a table is {TableName,[Option,...]}"),
        ] {
            let message = Specification::read("spec", text).unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}

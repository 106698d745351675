//! The OpenFlow switch `brimful-switchd`: flow tables from files, ports, queues, counters and statistics.

pub mod tables;

//! The real program, as users and machines treat it: wrong words, broken files, signals, killed processes,
//! full disks, missing rights. Each file is one kind of treatment.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stderr)]

mod audits;
mod bad_input;
#[allow(dead_code, reason = "the other tests of the program use the rest")]
mod bench;
mod bench_run;
mod bisecting;
mod book;
mod calibration;
mod capture;
mod comparing;
mod contenders;
mod cpus;
mod damage;
mod delivery;
mod downloads;
mod exports;
mod faults;
mod foreign;
mod foreign_declarations;
mod foretold;
mod gates;
mod help;
mod interrupts;
mod link_interrupts;
mod links;
mod load;
mod ports;
mod priorities;
mod published;
mod qlogs;
mod quic_witnesses;
mod runs;
mod servers;
mod serving;
mod shards;
mod slurm;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../get/started.rs"]
mod started;
mod subjects;
mod tcp_settings;
mod terminal;
mod twitter;
mod verdicts;

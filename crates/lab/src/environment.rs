//! The environment variables that wirelap uses. No other file reads one.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;

/// Whether output must be without colour (<https://no-color.org>).
pub(crate) fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// The file that TLS secrets are appended to, in NSS key log format, for Wireshark.
pub(crate) fn ssl_key_log_file() -> Option<PathBuf> {
    std::env::var_os("SSLKEYLOGFILE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder that qlog files go to, by the name that curl and quic-go have for it.
pub(crate) fn qlog_folder() -> Option<PathBuf> {
    std::env::var_os("QLOGDIR").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The user's file of certificate authorities, used instead of the system's, as in OpenSSL.
pub(crate) fn ssl_cert_file() -> Option<PathBuf> {
    std::env::var_os("SSL_CERT_FILE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The variables that name proxies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProxyVariables {
    /// For http URLs.
    pub(crate) http: Option<String>,
    /// For https URLs.
    pub(crate) https: Option<String>,
    /// For both, where they have none of their own.
    pub(crate) all: Option<String>,
    /// The hosts that are reached without one.
    pub(crate) except: Option<String>,
}

/// The proxies that the environment names, as curl reads it: small letters first. `HTTP_PROXY` does not count, since a web
/// server sets it for its programs from the field `Proxy` of a request.
pub(crate) fn proxy_variables() -> ProxyVariables {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    ProxyVariables {
        http: set("http_proxy"),
        https: set("https_proxy").or_else(|| set("HTTPS_PROXY")),
        all: set("all_proxy").or_else(|| set("ALL_PROXY")),
        except: set("no_proxy").or_else(|| set("NO_PROXY")),
    }
}

/// Folders in which programs are looked for: those of PATH, two for daemons, which an ordinary user's PATH leaves out, and
/// the one that `./peers install` fills.
pub(crate) fn program_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.push(peers_folder().join("bin"));
    folders
}

/// The folder in which `./peers install` installs. The script chooses it.
pub(crate) fn peers_folder() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || set("HOME").map_or_else(PathBuf::new, |home| PathBuf::from(home).join(".cache"));
    cache.unwrap_or_else(home).join("wirelap/peers")
}

/// What an engine of many machines tells each task of an array, as it stands in the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ArrayTask {
    /// Slurm's number of this task.
    pub(crate) slurm_id: Option<String>,
    /// The least number of the array.
    pub(crate) slurm_min: Option<String>,
    /// How many tasks the array has.
    pub(crate) slurm_count: Option<String>,
    /// The distance from a number to the next.
    pub(crate) slurm_step: Option<String>,
    /// Slurm's number of this process of a step, from 0.
    pub(crate) slurm_process: Option<String>,
    /// How many processes the step has.
    pub(crate) slurm_processes: Option<String>,
    /// Kubernetes's number of this pod, from 0.
    pub(crate) completion_index: Option<String>,
}

/// The array task that this process is.
pub(crate) fn array_task() -> ArrayTask {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    ArrayTask {
        slurm_id: set("SLURM_ARRAY_TASK_ID"),
        slurm_min: set("SLURM_ARRAY_TASK_MIN"),
        slurm_count: set("SLURM_ARRAY_TASK_COUNT"),
        slurm_step: set("SLURM_ARRAY_TASK_STEP"),
        slurm_process: set("SLURM_PROCID"),
        slurm_processes: set("SLURM_STEP_NUM_TASKS"),
        completion_index: set("JOB_COMPLETION_INDEX"),
    }
}

//! Finding a server's program, and asking its version.

use super::declaration::ServerDeclaration;
use super::running::ServerFailure;
use crate::declaration::Lacking;
use crate::program::find;
use crate::template;
use std::path::{Path, PathBuf};
use study::experiment::Transport;

impl ServerDeclaration {
    /// The path of its program: the first match in `folders`. A name with a slash is relative to the declaration's
    /// folder.
    pub fn find(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        find(self.command().first()?, self.home(), folders)
    }

    /// Whether its program and all that it needs are on this machine. `peers` is the folder that `./peers install` fills. The
    /// error says what is not there.
    pub fn is_here(&self, folders: &[PathBuf], peers: &Path) -> Result<(), Lacking> {
        if self.find(folders).is_none() {
            let reason = format!("{} is not on this machine", self.name());
            return Err(Lacking { reason, remedy: self.remedy().to_owned() });
        }
        self.has_its_needs(folders, peers)
    }

    /// The same of what it needs beside its program.
    pub(super) fn has_its_needs(&self, folders: &[PathBuf], peers: &Path) -> Result<(), Lacking> {
        let is_there = |need: &str| match need.contains('/') {
            true => self.home().join(need).exists(),
            false => find(need, self.home(), folders).is_some(),
        };
        // Their names were looked at when the declaration was read.
        let needs = self.needs.iter().filter_map(|need| path_of_need(need.get_ref(), peers).ok());
        match needs.into_iter().find(|need| !is_there(need)) {
            None => Ok(()),
            Some(need) => Err(Lacking {
                reason: format!("{} needs {need}, which is not here", self.name()),
                remedy: self.remedy().to_owned(),
            }),
        }
    }

    /// The first line of its version output; None where it does not run or prints none.
    pub fn version(&self, folders: &[PathBuf]) -> Option<String> {
        let (program, arguments) = self.version.split_first()?;
        crate::version::version(&find(program, self.home(), folders)?, arguments)
    }

    /// Whether the program that is installed was built with what `transport` needs. A program that is missing is no matter
    /// here. The error says what it lacks.
    pub fn is_built_for(
        &self,
        transport: Transport,
        folders: &[PathBuf],
    ) -> Result<(), ServerFailure> {
        for build in self.builds.iter().filter(|build| build.transport == transport) {
            let Some((program, arguments)) = build.command.split_first() else { continue };
            let Some(program) = find(program, self.home(), folders) else { continue };
            let text = crate::version::printed(&program, arguments).map(|(_, text)| text);
            if !text.is_some_and(|text| text.contains(&build.prints)) {
                let (reason, remedy) = (build.reason.clone(), build.remedy.clone());
                return Err(ServerFailure::Unsupported { reason, remedy });
            }
        }
        Ok(())
    }
}

/// A word of `needs`, with `{peers}` replaced.
pub(super) fn path_of_need(need: &str, peers: &Path) -> Result<String, String> {
    template::expand(need, |_, name| match name {
        "peers" => Ok(Some(peers.display().to_string())),
        _ => Err(template::unknown(name, ["peers"])),
    })
}

#[cfg(test)]
mod tests {
    use crate::server::builtin_servers;
    use std::fs;

    /// Their programs, node, python3 and sh, are on most machines.
    #[test]
    fn a_server_whose_module_or_jars_are_missing_is_not_here() {
        let machine = tempfile::tempdir().unwrap();
        let (peers, bin) = (machine.path().join("peers"), machine.path().join("bin"));
        fs::create_dir(&bin).unwrap();
        for program in ["node", "python3", "sh", "java"] {
            // Any file that can be run.
            fs::copy("/bin/sh", bin.join(program)).unwrap();
        }
        let servers = builtin_servers();
        for (name, module) in [
            ("node-spdy", "node/node_modules/spdy"),
            ("node-ws", "node/node_modules/ws"),
            ("python-websockets", "python/websockets"),
            ("jetty-12-server", "jvm/jetty-12-server"),
        ] {
            let server = servers.iter().find(|server| server.name() == name).unwrap();
            let folders = [bin.clone()];
            let lacking = server.is_here(&folders, &peers).unwrap_err();
            let module = peers.join(module);
            let reason = format!("{name} needs {}, which is not here", module.display());
            assert_eq!((lacking.reason, lacking.remedy.as_str()), (reason, "./peers install"));
            fs::create_dir_all(module).unwrap();
            assert_eq!(server.is_here(&folders, &peers), Ok(()));
        }
        fs::remove_file(bin.join("java")).unwrap();
        let jetty = servers.iter().find(|server| server.name() == "jetty-12-server").unwrap();
        let lacking = jetty.is_here(&[bin], &peers).unwrap_err();
        assert_eq!(lacking.reason, "jetty-12-server needs java, which is not here");
    }
}

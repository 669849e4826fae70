//! Finding a server's program, and asking its version.

use super::declaration::ServerDeclaration;
use super::running::ServerFailure;
use crate::program::find;
use std::path::PathBuf;
use study::experiment::Transport;

impl ServerDeclaration {
    /// The path of its program: the first match in `folders`. A name with a slash is relative to the declaration's
    /// folder.
    pub fn find(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        find(self.command().first()?, self.home(), folders)
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

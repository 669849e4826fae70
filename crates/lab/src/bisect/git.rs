//! The user's repository. The one rule: commits are checked out into worktrees of their own, and the user's checkout,
//! index and branches are never touched.

use crate::error::CliError;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A repository, and the worktrees that were added to it; they are taken away in the end.
#[derive(Debug)]
pub(crate) struct Repository {
    path: PathBuf,
    worktrees: Vec<PathBuf>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Its whole name.
    pub(crate) id: String,
    /// Its first line.
    pub(crate) subject: String,
}

impl Commit {
    /// The start of its name, which people use.
    pub(crate) fn short(&self) -> &str {
        &self.id[..self.id.len().min(SHORT)]
    }
}

const SHORT: usize = 10;

impl Repository {
    /// The repository that `path` is in.
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let repository = Self { path, worktrees: Vec::new() };
        repository.git(&["rev-parse", "--git-dir"])?;
        Ok(repository)
    }

    /// The commit that a name of the user's stands for.
    pub(crate) fn commit(&self, name: &str) -> Result<Commit, CliError> {
        let wanted = format!("{name}^{{commit}}");
        let id = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
        let id = id.map_err(|_| {
            CliError::misuse(format!("there is no commit `{name}` in {}", self.path.display()))
                .remedy("`git log --oneline` names them; --repository names another repository")
        })?;
        let subject = self.git(&["show", "--no-patch", "--format=%s", id.trim()])?;
        Ok(Commit { id: id.trim().to_owned(), subject: subject.trim().to_owned() })
    }

    /// The commits after `good` up to `bad`, oldest first: of a merge its first parent's line.
    pub(crate) fn between(&self, good: &Commit, bad: &Commit) -> Result<Vec<Commit>, CliError> {
        if self.git(&["merge-base", "--is-ancestor", &good.id, &bad.id]).is_err() {
            return Err(CliError::misuse(format!(
                "{} is not before {}",
                good.short(),
                bad.short()
            ))
            .remedy("GOOD has to be an ancestor of BAD"));
        }
        let range = format!("{}..{}", good.id, bad.id);
        let listed = self.git(&["log", "--first-parent", "--reverse", "--format=%H %s", &range])?;
        let commit = |line: &str| {
            let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
            Commit { id: id.to_owned(), subject: subject.to_owned() }
        };
        let commits: Vec<Commit> = listed.lines().map(commit).collect();
        match commits.is_empty() {
            true => Err(CliError::misuse("GOOD and BAD are the same commit")
                .remedy("name an earlier commit for GOOD")),
            false => Ok(commits),
        }
    }

    /// Checks a commit out into the new folder `into`.
    pub(crate) fn check_out(&mut self, commit: &Commit, into: &Path) -> Result<(), CliError> {
        let folder = into.to_string_lossy();
        self.git(&["worktree", "add", "--quiet", "--detach", &folder, &commit.id])?;
        self.worktrees.push(into.to_owned());
        Ok(())
    }

    fn git(&self, args: &[&str]) -> Result<String, CliError> {
        let Output { status, stdout, stderr } =
            self.command().args(args).output().map_err(|error| {
                CliError::lacking(format!("starting git: {error}")).remedy("sudo apt install git")
            })?;
        match status.success() {
            true => Ok(String::from_utf8_lossy(&stdout).into_owned()),
            false => {
                let said = String::from_utf8_lossy(&stderr);
                Err(CliError::misuse(format!("git {}: {}", args[0], said.trim())))
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.path);
        // It puts lines about signatures between the commits.
        command.args(["-c", "log.showSignature=false"]);
        forget_repository(&mut command);
        command
    }
}

/// Has a program find the repository by the folder that it runs in. Where wirelap is called from a hook of git's, the
/// environment names the hook's.
pub(crate) fn forget_repository(command: &mut Command) {
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        command.env_remove(name);
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        for worktree in &self.worktrees {
            let mut command = self.command();
            // Two times: what BUILD made there goes too, and a lock does not keep it.
            command.args(["worktree", "remove", "--force", "--force"]).arg(worktree);
            let _ = command.output();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Stdio;

    fn git(folder: &Path, args: &[&str], input: &str) -> String {
        let mut command = Command::new("git");
        command.args(["-C", &folder.to_string_lossy(), "-c", "user.name=t"]);
        command.args(["-c", "user.email=t@t.test"]).args(args);
        let mut git = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        git.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let ended = git.wait_with_output().unwrap();
        assert!(ended.status.success(), "git {args:?}");
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn signatures_that_the_user_is_shown_are_no_commits() {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str], input: &str| git(folder.path(), args, input);
        git(&["init", "--quiet"], "");
        git(&["config", "log.showSignature", "true"], "");
        // It says something about its arguments, and reads no keys.
        git(&["config", "gpg.program", "cat"], "");
        git(&["commit", "--quiet", "--allow-empty", "-m", "first"], "");
        let first = git(&["rev-parse", "HEAD"], "");
        let tree = git(&["rev-parse", "HEAD^{tree}"], "");
        let signed = format!(
            "tree {tree}\nparent {first}\nauthor t <t@t.test> 0 +0000\ncommitter t <t@t.test> 0 +0000\n\
             gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n\nsigned\n"
        );
        let second = git(&["hash-object", "-t", "commit", "-w", "--stdin"], &signed);
        let repository = Repository::open(folder.path()).unwrap();
        let (good, bad) = (repository.commit(&first).unwrap(), repository.commit(&second).unwrap());
        let expected = Commit { id: second, subject: "signed".to_owned() };
        assert_eq!(bad, expected);
        assert_eq!(repository.between(&good, &bad).unwrap(), [expected]);
    }
}

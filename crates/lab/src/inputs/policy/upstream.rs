//! What a policy cannot do for an application behind `serve --upstream`. The one rule: it is told before anything is served.

use super::PolicyFile;
use origin::{ByLink, LearnedSettings, Rule};

impl PolicyFile {
    /// What is told of this policy where an application answers.
    pub(crate) fn notes_before_application(&self) -> Vec<&'static str> {
        let Some(delivery) = &self.delivery else { return Vec::new() };
        let mut notes = Vec::new();
        if delivery.learned != LearnedSettings::default()
            && delivery.push.by_link == ByLink::Ignored
        {
            notes.push(LEARNED);
        }
        let goes_ahead = |rule: &Rule| !rule.push.is_empty() || !rule.hints.is_empty();
        if delivery.rules.iter().any(|rule| rule.media_type.is_some() && goes_ahead(rule)) {
            notes.push(TYPED);
        }
        notes
    }
}

const LEARNED: &str = "the policy's [learned] reads files alone, and no pages of the application: what these load is not pushed, hinted or linked. \
                       `--policy push-preload` pushes what the application's Link fields name";

const TYPED: &str = "a rule with `type` pushes and hints for files alone: the media type of the application's answer is not known before it. \
                     A rule with `path` does for both";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_applications_answers_do_not_get_is_told() {
        let notes = |text: &str| PolicyFile::parse(text).unwrap().notes_before_application();
        assert_eq!(notes("[learned]\nhints = \"all\""), [LEARNED]);
        assert_eq!(notes("[push]\nby_link = true\n[learned]\nhints = \"all\""), [""; 0]);
        let typed = |does: &str| notes(&format!("[[rules]]\ntype = \"text/html\"\n{does}"));
        assert_eq!(typed("hints = [\"</a.css>; rel=preload\"]"), [TYPED]);
        assert_eq!(typed("push = [\"/a.css\"]"), [TYPED]);
        assert_eq!(typed("links = [\"</a.css>; rel=preload\"]\nurgency = 2"), [""; 0]);
        assert_eq!(notes("[[rules]]\npath = \"/\"\npush = [\"/a.css\"]"), [""; 0]);
        assert_eq!(PolicyFile::default().notes_before_application(), [""; 0]);
    }
}

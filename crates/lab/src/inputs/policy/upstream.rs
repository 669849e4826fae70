//! What a policy cannot do for an application behind `serve --upstream`. The one rule: it is told before anything is served.

use super::PolicyFile;
use origin::{ByLink, LearnedSettings};

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
        notes
    }
}

const LEARNED: &str = "the policy's [learned] reads files alone, and no pages of the application: what these load is not pushed, hinted or linked. \
                       `--policy push-preload` pushes what the application's Link fields name";

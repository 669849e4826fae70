//! The settings `push`, `early_hints`, `profile` and `raise` of a contender with wirelap's own client, and `next_view`. The one rule: a setting that
//! this contender cannot have is refused; otherwise its rows would say that it had it.

use super::super::browser::{Profile, RaiseBy};
use super::super::contender::{Temperature, Transport};
use super::super::file::ContenderFile;
use super::super::first_visit::FirstVisit;
use super::super::next_view::NextView;
use super::super::{Workload, WorkloadKind};
use super::{ExperimentError, Reader};
use std::ops::Range;
use toml::Spanned;

impl Reader<'_> {
    /// Whether pushes are taken, and whether early hints are followed.
    pub(super) fn unasked(&self, file: &ContenderFile) -> Result<(bool, bool), ExperimentError> {
        let given = &file.settings;
        let pushes = &[Transport::H2, Transport::Spdy, Transport::Spdy3];
        let hints = &[Transport::H2, Transport::H3];
        Ok((
            self.switch(file, Switch { name: "push", field: &given.push, of: pushes })?
                .unwrap_or(false),
            self.switch(
                file,
                Switch { name: "early_hints", field: &given.early_hints, of: hints },
            )?
            .unwrap_or(true),
        ))
    }

    /// The browser that the client is, and how it raises images.
    pub(super) fn browser(
        &self,
        file: &ContenderFile,
    ) -> Result<(Profile, RaiseBy), ExperimentError> {
        let given = &file.settings;
        let transport = *file.transport.get_ref();
        if let Some(field) = &given.raise
            && !matches!(transport, Transport::H2 | Transport::H3)
        {
            let words = format!("`raise` is of `h2`, `h3`, and this contender is `{transport}`");
            return Err(self.fault(field.span(), words));
        }
        let profile = given.profile.as_ref().map(|field| *field.get_ref());
        let raise = given.raise.as_ref().map(|field| *field.get_ref());
        Ok((profile.unwrap_or_default(), raise.unwrap_or_default()))
    }

    /// The view that is measured.
    pub(super) fn next_view(
        &self,
        file: &ContenderFile,
        temperature: Temperature,
        first_visit: FirstVisit,
    ) -> Result<Option<NextView>, ExperimentError> {
        let Some(field) = &file.settings.next_view else { return Ok(None) };
        let fault = match *field.get_ref() {
            NextView { evicted, away, .. }
                if file.client.is_some() && (evicted > 0 || !away.is_zero()) =>
            {
                "`evicted` and `away` need wirelap's own client: a browser's cache is its own"
            }
            _ if temperature == Temperature::Open && file.client.is_none() => {
                "`next_view` begins with connections of its own: leave `temperature = \"open\"` away"
            }
            _ if first_visit == FirstVisit::AltSvc => {
                "`first_visit = \"alt-svc\"` has a next view of its own: leave `next_view` away"
            }
            NextView { evicted: 101.., .. } => "`evicted` is per cent: at most 100",
            view => return Ok(Some(view)),
        };
        Err(self.fault(field.span(), fault))
    }

    /// Refuses `next_view`, `profile` and `raise` where a workload is not a page: nothing else has a cache, and kinds of resources. Refuses
    /// `delivery` where none is a stream.
    pub(super) fn views(
        &self,
        file: &ContenderFile,
        workloads: &[Workload],
    ) -> Result<(), ExperimentError> {
        let is_page =
            |one: &&Workload| matches!(one.kind, WorkloadKind::Page(_) | WorkloadKind::Har(_));
        let other = workloads.iter().find(|one| !is_page(one));
        let given = &file.settings;
        let settings = [
            ("next_view", given.next_view.as_ref().map(Spanned::span)),
            ("profile", given.profile.as_ref().map(Spanned::span)),
            ("raise", given.raise.as_ref().map(Spanned::span)),
        ];
        for (name, span) in settings {
            if let (Some(span), Some(other)) = (span, other) {
                let words =
                    format!("`{name}` is of pages, and the workload `{}` is none", other.name);
                return Err(self.fault(span, words));
            }
        }
        let has_stream = || workloads.iter().any(|one| matches!(one.kind, WorkloadKind::Stream(_)));
        if let Some(field) = given.delivery.as_ref().filter(|_| !has_stream()) {
            return Err(
                self.fault(field.span(), "`delivery` is of streams, and no workload is one")
            );
        }
        if let Some(field) = &given.fetchpriority {
            self.heroes(field.span(), workloads)?;
        }
        Ok(())
    }

    /// Refuses `fetchpriority` of a contender where a workload has no hero that it could be said of.
    fn heroes(&self, span: Range<usize>, workloads: &[Workload]) -> Result<(), ExperimentError> {
        let has_hero = |one: &&Workload| matches!(&one.kind, WorkloadKind::Page(page) if page.parts.hero.is_some());
        match workloads.iter().find(|one| !has_hero(one)) {
            None => Ok(()),
            Some(other) => {
                let words = format!(
                    "`fetchpriority` is of a page's hero, and the workload `{}` has none",
                    other.name
                );
                Err(self.fault(span, words))
            }
        }
    }

    fn switch(
        &self,
        file: &ContenderFile,
        switch: Switch<'_>,
    ) -> Result<Option<bool>, ExperimentError> {
        let Switch { name, field, of } = switch;
        let Some(field) = field else { return Ok(None) };
        let transport = *file.transport.get_ref();
        if of.contains(&transport) {
            return Ok(Some(*field.get_ref()));
        }
        let names: Vec<_> = of.iter().map(|one| format!("`{one}`")).collect();
        let words =
            format!("`{name}` is of {}, and this contender is `{transport}`", names.join(", "));
        Err(self.fault(field.span(), words))
    }
}

/// A setting that is true or false.
struct Switch<'f> {
    name: &'static str,
    field: &'f Option<Spanned<bool>>,
    /// The transports that have it.
    of: &'f [Transport],
}

#[cfg(test)]
mod tests {
    use super::super::super::{
        Experiment, ExperimentError, FetchPriority, NextView, Profile, RaiseBy, Settings,
        WorkloadKind,
    };
    use std::time::Duration;

    fn read(contender: &str, settings: &str) -> Result<Settings, ExperimentError> {
        let text = format!(
            "name = \"v\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n[[contenders]]\nname = \"c\"\n\
             {contender}\nsettings = {{ {settings} }}\n[[workloads]]\nkind = \"page\"\nimages = 3\nbytes = 10\n\
             [[links]]\nname = \"lan\"\n"
        );
        text.parse().map(|experiment: Experiment| experiment.contenders[0].settings.clone())
    }

    #[test]
    fn pushes_are_refused_and_hints_followed_unless_a_contender_says_otherwise() {
        let usual = read("transport = \"h2\"", "").unwrap();
        assert_eq!((usual.push, usual.early_hints), (false, true));
        let json = serde_json::to_value(&usual).unwrap();
        assert_eq!((json.get("push"), json.get("early_hints")), (None, None));
        for transport in ["h2", "spdy/3.1", "spdy/3"] {
            let settings = read(&format!("transport = \"{transport}\""), "push = true").unwrap();
            assert!(settings.push);
        }
        for transport in ["h2", "h3"] {
            let contender = format!("transport = \"{transport}\"");
            assert!(!read(&contender, "early_hints = false").unwrap().early_hints);
        }
    }

    #[test]
    fn what_a_contender_cannot_have_is_refused() {
        let fault =
            |contender: &str, settings: &str| read(contender, settings).unwrap_err().message;
        let delivery = fault("transport = \"h2\"", "delivery = \"chunked\"");
        assert_eq!(delivery, "`delivery` is of streams, and no workload is one");
        for transport in ["spdy/3", "http/1.1"] {
            let window =
                fault(&format!("transport = \"{transport}\""), "connection_window = \"1MB\"");
            assert_eq!(window, format!("`{transport}` has no `connection_window`"));
        }
        for ends in ["keep_alive", "server_keep_alive"] {
            let open =
                fault("transport = \"h2\"", &format!("temperature = \"open\", {ends} = false"));
            assert_eq!(open, "`open` needs connections that stay, and keep-alive is false");
        }
    }

    #[test]
    fn the_markup_of_a_contenders_page_may_raise_the_hero_where_there_is_one() {
        let text = |workload: &str| {
            format!(
                "name = \"v\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n[[contenders]]\nname = \"c\"\n\
                 transport = \"h2\"\nsettings = {{ fetchpriority = \"high\" }}\n[[workloads]]\nkind = \"page\"\n\
                 {workload}\n[[links]]\nname = \"lan\"\n"
            )
        };
        let read: Experiment = text("shape = \"late-hero\"").parse().unwrap();
        let markup = read.contenders[0].settings.fetchpriority;
        assert_eq!(markup, Some(FetchPriority::High));
        let WorkloadKind::Page(page) = read.workloads[0].kind else { panic!("a page") };
        assert_eq!(page.parts.fetchpriority, FetchPriority::Auto);
        assert_eq!(page.with_fetchpriority(markup).parts.fetchpriority, FetchPriority::High);
        assert_eq!(page.with_fetchpriority(None), page);
        let fault = text("images = 3\nbytes = 10").parse::<Experiment>().unwrap_err().to_string();
        assert!(fault.contains("the workload `page-3x10B` has none"), "{fault}");
    }

    #[test]
    fn a_client_is_the_browser_that_its_contender_names() {
        for profile in Profile::ALL {
            let given = format!("profile = \"{}\"", profile.name());
            assert_eq!(read("transport = \"h2\"", &given).unwrap().profile, profile);
        }
        let usual = read("transport = \"h2\"", "").unwrap();
        assert_eq!((usual.profile, usual.raise), (Profile::Chrome156, RaiseBy::Profile));
        let control = read("transport = \"h2\"", "raise = \"priority-update\"").unwrap();
        assert_eq!(control.raise, RaiseBy::PriorityUpdate);
    }

    #[test]
    fn what_a_contender_cannot_do_is_refused() {
        let fault =
            |contender: &str, settings: &str| read(contender, settings).unwrap_err().message;
        assert_eq!(
            fault("transport = \"h3\"", "push = true"),
            "`push` is of `h2`, `spdy/3.1`, `spdy/3`, and this contender is `h3`"
        );
        assert_eq!(
            fault("transport = \"http/1.1\"", "early_hints = true"),
            "`early_hints` is of `h2`, `h3`, and this contender is `http/1.1`"
        );
        assert_eq!(
            fault("transport = \"spdy/3.1\"", "raise = \"priority-update\""),
            "`raise` is of `h2`, `h3`, and this contender is `spdy/3.1`"
        );
        let curl = "transport = \"h2\"\nclient = \"curl\"";
        assert_eq!(fault(curl, "profile = \"chrome-46\""), "`profile` needs wirelap's own client");
        let unknown = fault("transport = \"h2\"", "profile = \"chrome-1\"");
        assert!(unknown.contains("chrome-46"), "{unknown}");
        let foreign = fault("transport = \"h2\"\nclient = \"curl\"", "push = true");
        assert_eq!(foreign, "`push` needs wirelap's own client");
    }

    #[test]
    fn a_next_view_says_what_is_left_of_the_first() {
        let h2 = "transport = \"h2\"";
        let settings = read(h2, "next_view = { evicted = 20, away = \"2h\" }").unwrap();
        let view = settings.next_view.unwrap();
        assert_eq!((view.evicted, view.away), (20, Duration::from_secs(7_200)));
        assert_eq!(view, NextView { max_age: NextView::default().max_age, ..view });
        assert_eq!(read(h2, "next_view = {}").unwrap().next_view, Some(NextView::default()));
        let json = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
        let fault =
            |contender: &str, settings: &str| read(contender, settings).unwrap_err().message;
        let browser = "transport = \"h2\"\nclient = \"chromium\"";
        let elsewhere = "transport = \"h2\"\nclient = \"chromium\"\nserver = \"nginx\"";
        let warm = read(browser, "next_view = {}, temperature = \"open\"").unwrap();
        assert_eq!(warm.next_view, Some(NextView::default()));
        for (contender, settings, reason) in [
            (h2, "next_view = { evicted = 101 }", "at most 100"),
            (h2, "next_view = {}, temperature = \"open\"", "connections of its own"),
            ("transport = \"h3\"", "next_view = {}, first_visit = \"alt-svc\"", "of its own"),
            (browser, "next_view = { evicted = 20 }", "a browser's cache is its own"),
            (browser, "next_view = { away = \"1h\" }", "a browser's cache is its own"),
            (elsewhere, "next_view = {}", "needs wirelap's own server"),
            (h2, "next_view = { fresh = 1 }", "fresh"),
        ] {
            let found = fault(contender, settings);
            assert!(found.contains(reason), "{found}");
        }
        let calls = format!(
            "name = \"v\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n[[contenders]]\nname = \"c\"\n{h2}\n\
             settings = {{ next_view = {{}} }}\n[[workloads]]\nkind = \"calls\"\npattern = \"serial\"\ncount = 3\n\
             bytes = 10\n[[links]]\nname = \"lan\"\n"
        );
        let found = calls.parse::<Experiment>().unwrap_err().message;
        assert!(found.contains("`next_view` is of pages"), "{found}");
    }
}

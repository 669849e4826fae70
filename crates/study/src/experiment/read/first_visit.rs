//! The setting `first_visit` of a contender. The one rule: what a contender cannot do is refused, or its rows would say that it
//! had.

use super::super::contender::{Negotiation, Temperature, Transport};
use super::super::file::ContenderFile;
use super::super::first_visit::FirstVisit;
use super::{ExperimentError, Reader, is_foreign};

impl Reader<'_> {
    /// How HTTP/3 is found.
    pub(super) fn first_visit(
        &self,
        file: &ContenderFile,
        temperature: Temperature,
    ) -> Result<FirstVisit, ExperimentError> {
        let given = &file.settings;
        let Some(field) = &given.first_visit else { return Ok(FirstVisit::Known) };
        let (asked, transport) = (*field.get_ref(), *file.transport.get_ref());
        let negotiates =
            given.negotiation.as_ref().is_some_and(|own| *own.get_ref() == Negotiation::Alpn);
        let fault = match asked {
            _ if transport != Transport::H3 => {
                format!("`first_visit` is how `h3` is found, and this contender is `{transport}`")
            }
            FirstVisit::Known | FirstVisit::HttpsRecord => return Ok(asked),
            FirstVisit::AltSvc if file.client.is_some() && temperature != Temperature::Cold => {
                "`first_visit = \"alt-svc\"` of another's client is cold: leave `temperature` away"
                    .to_owned()
            }
            _ if is_foreign(&file.server)
                || (file.client.is_some() && asked != FirstVisit::AltSvc) =>
            {
                format!(
                    "`first_visit = \"{}\"` needs wirelap's own client and server",
                    asked.name()
                )
            }
            _ if temperature == Temperature::Open => {
                "the connections of `temperature = \"open\"` stand already: nothing is left to find"
                    .to_owned()
            }
            _ if negotiates => {
                "`first_visit` says what is spoken: leave `negotiation` away".to_owned()
            }
            _ => return Ok(asked),
        };
        Err(self.fault(field.span(), fault))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Experiment, ExperimentError, FirstVisit};

    fn read(contender: &str, settings: &str) -> Result<Experiment, ExperimentError> {
        let text = format!(
            "name = \"v\"\ntitle = \"t\"\nquestion = \"q\"\nbaseline = \"c\"\n[[contenders]]\nname = \"c\"\n\
             {contender}\nsettings = {{ {settings} }}\n[[workloads]]\nkind = \"page\"\nimages = 3\nbytes = 10\n\
             [[links]]\nname = \"lan\"\n"
        );
        text.parse()
    }

    const H3: &str = "transport = \"h3\"";

    #[test]
    fn each_way_has_its_name_and_the_default_stands_in_no_row() {
        for way in FirstVisit::ALL {
            let found = read(H3, &format!("first_visit = \"{}\"", way.name())).unwrap();
            let settings = &found.contenders[0].settings;
            assert_eq!(settings.first_visit, way);
            let json = serde_json::to_value(settings).unwrap();
            let told = json.get("first_visit").and_then(|value| value.as_str());
            assert_eq!(told, (way != FirstVisit::Known).then_some(way.name()));
        }
        assert_eq!(read(H3, "").unwrap().contenders[0].settings.first_visit, FirstVisit::Known);
    }

    #[test]
    fn a_way_that_a_contender_cannot_go_is_refused() {
        let fault =
            |contender: &str, settings: &str| read(contender, settings).unwrap_err().message;
        assert_eq!(
            fault("transport = \"h2\"", "first_visit = \"race\""),
            "`first_visit` is how `h3` is found, and this contender is `h2`"
        );
        for way in ["alt-svc", "race", "udp-blocked"] {
            let setting = format!("first_visit = \"{way}\"");
            let client = read(&format!("{H3}\nclient = \"chromium\""), &setting);
            match way {
                "alt-svc" => assert!(client.is_ok(), "{client:?}"),
                _ => assert!(client.unwrap_err().message.contains("own client and server")),
            }
            let server = fault(&format!("{H3}\nserver = \"nginx\""), &setting);
            assert!(server.contains("own client and server"), "{server}");
            let open = fault(H3, &format!("{setting}, temperature = \"open\""));
            assert!(open.contains("stand already"), "{open}");
            let asks = fault(H3, &format!("{setting}, negotiation = \"alpn\""));
            assert!(asks.contains("leave `negotiation` away"), "{asks}");
        }
        let warm = fault(
            &format!("{H3}\nclient = \"chromium\""),
            "first_visit = \"alt-svc\", temperature = \"resumed\"",
        );
        assert!(warm.contains("is cold"), "{warm}");
        let unknown = fault(H3, "first_visit = \"dns\"");
        assert!(unknown.contains("https-record"), "{unknown}");
    }
}

//! Which proxies are used: those of `--proxy`, or of the environment as curl reads it.

use crate::cli::{ProxyChoice, parse_proxy};
use crate::environment::ProxyVariables;
use crate::error::CliError;
use client::{Exceptions, Proxies};

/// The proxies of `chosen`, or of the environment where nothing was chosen. `no_proxy` counts for both.
pub(crate) fn proxies(
    chosen: Option<&ProxyChoice>,
    variables: &ProxyVariables,
) -> Result<Proxies, CliError> {
    let except = Exceptions::read(variables.except.as_deref().unwrap_or_default());
    if let Some(ProxyChoice(chosen)) = chosen {
        return Ok(Proxies { http: chosen.clone(), https: chosen.clone(), except });
    }
    let named = |own: (&str, &Option<String>)| {
        let all = ("all_proxy", &variables.all);
        let set = [own, all].into_iter().find_map(|(name, set)| Some((name, set.as_ref()?)));
        let Some((name, text)) = set else { return Ok(None) };
        match parse_proxy(text) {
            Ok(ProxyChoice(proxy)) => Ok(proxy),
            Err(why) => Err(CliError::misuse(format!("the variable {name}: {why}"))
                .remedy("set it to http://host:port, or use none: --proxy ''")),
        }
    };
    let http = named(("http_proxy", &variables.http))?;
    let https = named(("https_proxy", &variables.https))?;
    Ok(Proxies { http, https, except })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> ProxyVariables {
        ProxyVariables {
            http: Some("one:81".to_owned()),
            https: None,
            all: Some("http://other".to_owned()),
            except: Some("near".to_owned()),
        }
    }

    fn chosen(text: &str) -> Option<ProxyChoice> {
        parse_proxy(text).ok()
    }

    #[test]
    fn a_schemes_own_variable_goes_before_the_one_for_all() {
        let proxies = proxies(None, &variables()).unwrap();
        assert_eq!(proxies.http.unwrap().to_string(), "one:81");
        assert_eq!(proxies.https.unwrap().to_string(), "other:1080", "curl's own port");
    }

    #[test]
    fn the_flag_goes_before_the_variables_and_no_proxy_counts_all_the_same() {
        let found = proxies(chosen("mine:80").as_ref(), &variables()).unwrap();
        assert_eq!(found.http.as_ref().unwrap().to_string(), "mine:80");
        assert_eq!(found.http, found.https);
        assert_eq!(found.except, Exceptions::read("near"));
        let none = proxies(chosen("").as_ref(), &variables()).unwrap();
        assert_eq!((none.http, none.https), (None, None));
    }

    #[test]
    fn a_variable_that_names_no_http_proxy_is_an_error_without_its_password() {
        let variables = ProxyVariables {
            all: Some("socks5://a:secret@host".to_owned()),
            ..ProxyVariables::default()
        };
        let error = proxies(None, &variables).unwrap_err().to_string();
        assert!(error.contains("all_proxy") && error.contains("socks5"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

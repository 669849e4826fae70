//! An Indexed Job of Kubernetes, as a value and as YAML.

use serde_json::{Value, json};

/// Where pods find the claim.
pub(super) const MOUNTED: &str = "/runs";

/// What a Job is made of.
pub(super) struct Job<'a> {
    /// A DNS label.
    pub(super) name: String,
    pub(super) shards: u32,
    pub(super) image: &'a str,
    pub(super) claim: &'a str,
    pub(super) command: Vec<String>,
}

impl Job<'_> {
    /// The manifest. A pod that fails is started again for its own index, and two never share a node.
    pub(super) fn value(&self) -> Value {
        let labels = json!({ "app": self.name });
        let apart = json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
            { "labelSelector": { "matchLabels": labels }, "topologyKey": "kubernetes.io/hostname" }
        ] } });
        // Requests that equal limits in whole CPUs get them alone, where the kubelet's policy is static.
        let resources = json!({ "cpu": "2", "memory": "2Gi" });
        let container = json!({
            "name": "wirelap",
            "image": self.image,
            "command": self.command,
            "resources": { "requests": resources, "limits": resources },
            // Network namespaces, and their sysctls, which a container's /proc/sys does not let others write.
            "securityContext": { "privileged": true },
            "volumeMounts": [{ "name": "runs", "mountPath": MOUNTED }],
        });
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": self.name, "labels": labels },
            "spec": {
                "completionMode": "Indexed",
                "completions": self.shards,
                "parallelism": self.shards,
                "backoffLimitPerIndex": 3,
                "template": {
                    "metadata": { "labels": labels },
                    "spec": {
                        "restartPolicy": "Never",
                        "affinity": apart,
                        "containers": [container],
                        "volumes": [{
                            "name": "runs",
                            "persistentVolumeClaim": { "claimName": self.claim },
                        }],
                    },
                },
            },
        })
    }
}

/// An experiment's name as a DNS label (RFC 1123 §2.1): a pod's name has the index and five characters behind it.
pub(super) fn label(name: &str) -> String {
    const LONGEST: usize = 40;
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(LONGEST)
        .collect();
    format!("wirelap-{}", plain.trim_matches('-'))
}

/// A value as YAML in blocks. A text is quoted as in JSON, which YAML 1.2 reads.
pub(super) fn yaml(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text
}

fn write(text: &mut String, value: &Value, indent: usize) {
    let margin = " ".repeat(indent);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                text.push_str(&format!("{margin}{name}:"));
                below(text, value, indent + 2);
            }
        }
        Value::Array(values) => {
            for value in values {
                let mut item = String::new();
                write(&mut item, value, indent + 2);
                // The first line of an item stands behind its dash.
                text.push_str(&format!("{margin}- {}", item.trim_start()));
            }
        }
        scalar => text.push_str(&format!("{margin}{scalar}\n")),
    }
}

fn below(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(_) | Value::Array(_) => {
            text.push('\n');
            write(text, value, indent);
        }
        scalar => text.push_str(&format!(" {scalar}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn job() -> Value {
        let command = ["wirelap", "race", "quick", "--links", "3g,loss=1%", "--shard", "auto/8"];
        Job {
            name: label("quick"),
            shards: 8,
            image: "registry.test/wirelap:1",
            claim: "runs",
            command: command.map(str::to_owned).to_vec(),
        }
        .value()
    }

    /// The fields of Kubernetes's types, by type and name.
    type Types = BTreeMap<String, BTreeMap<String, String>>;

    /// What of `value` is no field of `kind`, or of another type than the field.
    fn wrong(types: &Types, kind: &str, value: &Value, place: &str) -> Vec<String> {
        let each = |values: Vec<(String, &Value)>, kind: &str| -> Vec<String> {
            values
                .into_iter()
                .flat_map(|(place, value)| wrong(types, kind, value, &place))
                .collect()
        };
        if let Some(of) = kind.strip_prefix("[]") {
            let Value::Array(values) = value else { return vec![place.to_owned()] };
            let named = values.iter().map(|value| (format!("{place}[]"), value)).collect();
            return each(named, of);
        }
        if let Some(of) = kind.strip_prefix("{}") {
            let Value::Object(values) = value else { return vec![place.to_owned()] };
            let named = values.iter().map(|(name, value)| (format!("{place}.{name}"), value));
            return each(named.collect(), of);
        }
        match (kind, value) {
            ("string", Value::String(_))
            | ("number", Value::Number(_))
            | ("boolean", Value::Bool(_)) => Vec::new(),
            (_, Value::Object(fields)) => fields
                .iter()
                .flat_map(|(name, value)| {
                    let place = format!("{place}.{name}");
                    match types.get(kind).and_then(|fields| fields.get(name)) {
                        Some(kind) => wrong(types, kind, value, &place),
                        None => vec![place],
                    }
                })
                .collect(),
            _ => vec![place.to_owned()],
        }
    }

    #[test]
    fn every_field_of_the_job_is_one_of_kubernetess() {
        let types = include_str!("../../../../../vectors/kubernetes/batch-v1.json");
        let types: Types = serde_json::from_str(types).unwrap();
        assert_eq!(wrong(&types, "Job", &job(), "job"), Vec::<String>::new());
        let mut slip = job();
        slip["spec"]["completionsMode"] = "Indexed".into();
        slip["spec"]["template"]["spec"]["containers"][0]["command"] = "wirelap".into();
        assert_eq!(
            wrong(&types, "Job", &slip, "job"),
            ["job.spec.completionsMode", "job.spec.template.spec.containers[].command"]
        );
    }

    #[test]
    fn a_value_is_written_in_blocks() {
        let value = json!({ "a": { "b": [1, "x: y", { "c": true, "d": [2] }] }, "e": [[3, 4]] });
        assert_eq!(
            yaml(&value),
            "a:\n  b:\n    - 1\n    - \"x: y\"\n    - c: true\n      d:\n        - 2\ne:\n  - - 3\n    - 4\n"
        );
    }

    #[test]
    fn a_name_becomes_a_label_of_dns() {
        assert_eq!(label("My Shop_v2!"), "wirelap-my-shop-v2");
        assert!(label(&"x".repeat(200)).len() <= 52);
    }
}

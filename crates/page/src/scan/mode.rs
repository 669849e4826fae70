//! How an element makes its fetch. A browser uses a response that was asked for ahead only where both say the same.

/// What a browser compares between a fetch that was made ahead and the element that needs it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchMode {
    /// What the attribute `crossorigin` says.
    pub cross_origin: CrossOrigin,
    /// What the attribute `integrity` says, where the element has a use for it and it says something.
    pub integrity: Option<String>,
    /// Who asks for it.
    pub purpose: Purpose,
}

/// The states of the attribute `crossorigin` (HTML §2.5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CrossOrigin {
    /// There is no such attribute.
    #[default]
    NoCors,
    /// It is there, with `anonymous`, without a value or with an unknown one.
    Anonymous,
    /// `use-credentials`.
    UseCredentials,
}

/// Who asks for a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// An element that uses it.
    #[default]
    Use,
    /// An element that uses it as a module script: these are always fetched with CORS (HTML §8.1.4.2).
    UseAsModule,
    /// `rel=preload`: another element is to use it.
    Preload,
    /// `rel=modulepreload`, for a module script.
    ModulePreload,
}

impl Purpose {
    /// Whether it is fetched as a module script.
    pub fn is_module(self) -> bool {
        matches!(self, Self::UseAsModule | Self::ModulePreload)
    }
}

//! Targets over codecs and bare machines: one a file.

pub(crate) mod cache_digest;
pub(crate) mod casper;
pub(crate) mod h1_chunked;
pub(crate) mod h1_client;
pub(crate) mod h1_request;
pub(crate) mod h1_response;
pub(crate) mod h1_server;
pub(crate) mod h2_client;
pub(crate) mod h2_frames;
pub(crate) mod h2_server;
pub(crate) mod h3_frames;
pub(crate) mod h3_server;
pub(crate) mod har;
pub(crate) mod hpack;
pub(crate) mod html_scan;
pub(crate) mod ip_segments;
pub(crate) mod link_text;
pub(crate) mod pcapng;
pub(crate) mod qpack;
pub(crate) mod spdy_block;
pub(crate) mod spdy_client;
pub(crate) mod spdy_encoder;
pub(crate) mod spdy_frames;
pub(crate) mod spdy_server;
pub(crate) mod ws_connection;
pub(crate) mod ws_frames;

//! The files of a workload, made for servers that serve nothing but files: the very bytes that the origin makes
//! while it answers.

use crate::trial::download_files;
use crate::trial::recorded_site::RecordedSite;
use crate::trial::task::{Asset, Call, Task};
use page::{PartPiece, Synthetic, SyntheticImage, SyntheticPart};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use unit::Seed;

/// A file to be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StaticFile {
    /// Its text.
    Text(String),
    /// So many bytes of noise.
    Noise {
        /// Where in the noise it begins.
        seed: Seed,
        /// How many.
        bytes: u64,
    },
    /// An image of a synthetic page without parts.
    Image(SyntheticImage),
    /// A style sheet, a script, a font or an image of a synthetic page with parts.
    Part(SyntheticPart),
    /// A file of a download: what follows from its name and its length.
    Download {
        /// Its name.
        name: String,
        /// Its bytes.
        bytes: u64,
    },
}

/// Files by their paths below the root: a file server finds them by the path alone, whatever the query is.
pub(crate) type StaticFiles = BTreeMap<String, StaticFile>;

impl StaticFile {
    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Image(image) => image.body.0,
            Self::Part(part) => part.body.0,
            Self::Noise { bytes, .. } | Self::Download { bytes, .. } => *bytes,
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Text(text) => out.write_all(text.as_bytes()),
            Self::Download { name, bytes } => download_files::write(out, name, *bytes).map(drop),
            Self::Noise { seed, bytes } => write_shared(out, *bytes, |left| {
                page::noise(
                    *seed,
                    left.start,
                    usize::try_from(left.end - left.start).unwrap_or(usize::MAX),
                )
            }),
            Self::Image(image) => write_pieces(out, image.pieces()),
            Self::Part(part) => write_pieces(out, part.pieces()),
        }
    }
}

fn write_pieces(out: &mut impl Write, pieces: Vec<PartPiece>) -> io::Result<()> {
    pieces.into_iter().try_for_each(|piece| match piece {
        PartPiece::Bytes(bytes) => out.write_all(&bytes),
        PartPiece::Padding(padding, bytes) => {
            write_shared(out, bytes, |left| padding.piece(left, usize::MAX))
        }
    })
}

/// Writes `bytes` bytes, of which `piece` gives the first ones of a range.
fn write_shared(
    out: &mut impl Write,
    bytes: u64,
    piece: impl Fn(Range<u64>) -> &'static [u8],
) -> io::Result<()> {
    let mut position = 0;
    while position < bytes {
        let piece = piece(position..bytes);
        out.write_all(piece)?;
        position += piece.len() as u64;
    }
    Ok(())
}

/// The files that a task asks for; else why files are not enough.
pub(crate) fn of(task: &Task) -> Result<StaticFiles, String> {
    match task {
        // What of it is no file is an upstream's: see `recorded_site`.
        Task::Page { page, recorded: true } => Ok(RecordedSite::of(&page.table()).1),
        Task::Page { page, recorded: false } => {
            if page.resources().iter().any(|resource| !resource.server_time.is_zero()) {
                return Err("a page with a server time is answered by a program, and a file server has files alone"
                    .to_owned());
            }
            let targets = page.resources().iter().map(|resource| resource.url.path.as_str());
            targets.map(of_page).collect()
        }
        Task::Calls { calls, .. } if calls.iter().any(|call| !call.server_time.is_zero()) => Err(
            "calls with a server time are answered by a program, and a file server has files alone"
                .to_owned(),
        ),
        Task::Calls { calls, .. } => calls.iter().map(of_call).collect(),
        Task::Download { files, .. } => {
            let file = |asset: &Asset| {
                let file = StaticFile::Download { name: asset.name.clone(), bytes: asset.bytes };
                (path_of(&asset.url.path), file)
            };
            Ok(files.iter().map(file).collect())
        }
        Task::Stream(_) => {
            Err("streams are made by a program, and a file server has files alone".to_owned())
        }
        Task::Echo(_) => {
            Err("echoes are answered by a program, and a file server has files alone".to_owned())
        }
    }
}

/// What a call asks for. All calls with one path have one size.
fn of_call(call: &Call) -> Result<(String, StaticFile), String> {
    let (path, seed) = (path_of(&call.url.path), Seed(0).child(&call.url.path));
    let method = call.own.as_ref().map_or("GET", |own| &own.method);
    if method != "GET" {
        return Err(format!(
            "{method} {} is answered by a program, and a file server has files alone",
            call.url.path
        ));
    }
    if path.split('/').any(|part| part.is_empty() || part.starts_with('.')) || path.contains('%') {
        return Err(format!("{} is no name that a file can have", call.url.path));
    }
    Ok((path, StaticFile::Noise { seed, bytes: call.bytes.unwrap_or(0) }))
}

/// The document, an image or another part of a synthetic page.
fn of_page(target: &str) -> Result<(String, StaticFile), String> {
    let file = if let Ok(page) = target.parse::<Synthetic>() {
        StaticFile::Text(page.html())
    } else if let Ok(part) = target.parse::<SyntheticPart>() {
        StaticFile::Part(part)
    } else {
        let image: SyntheticImage = target.parse().map_err(|error| format!("{error}"))?;
        StaticFile::Image(image)
    };
    Ok((path_of(target), file))
}

fn path_of(target: &str) -> String {
    target.split('?').next().unwrap_or_default().trim_start_matches('/').to_owned()
}

/// Writes the files below `folder`, which is there. One that is there in its full length is left as it is, and each
/// appears whole or not at all: trials that run side by side may share a folder.
pub(crate) fn write_all(files: &StaticFiles, folder: &Path) -> io::Result<()> {
    for (path, file) in files {
        let place = folder.join(path);
        if fs::metadata(&place).is_ok_and(|facts| facts.len() == file.bytes()) {
            continue;
        }
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        let part = folder.join(format!(".part-{}", std::process::id()));
        let mut out = BufWriter::with_capacity(256 * 1024, File::create(&part)?);
        file.write(&mut out)?;
        out.flush()?;
        fs::rename(&part, &place)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use study::experiment::{
        CallsWorkload, Experiment, PageParts, PageWorkload, Pattern, ServerTime, Workload,
    };
    use study::plan::Cell;
    use unit::ByteSize;

    fn task(workload: &Workload) -> Task {
        let experiment: Experiment = study::experiment::builtin()[0].toml.parse().unwrap();
        let cell = Cell {
            workload: workload.clone(),
            contender: experiment.contenders[0].clone(),
            link: experiment.links[0].clone(),
        };
        Task::of(&cell, Path::new("."), Seed(1)).unwrap()
    }

    #[test]
    fn a_page_becomes_files_of_the_lengths_that_its_graph_says() {
        let parts = PageParts { css: 1, fonts: 1, hero: Some(70_000), ..PageParts::default() };
        let with_parts = PageWorkload { parts, ..PageWorkload::of_images(1, ByteSize(200)) };
        for page in [with_parts, PageWorkload::of_images(3, ByteSize(70_000))] {
            has_files_of_its_lengths(&task(&Workload::page(page)));
        }
    }

    fn has_files_of_its_lengths(task: &Task) {
        let files = of(task).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        write_all(&files, folder).unwrap();
        let Task::Page { page, .. } = task else { panic!("a page is one") };
        for resource in page.resources() {
            let bytes = fs::read(folder.join(path_of(&resource.url.path))).unwrap();
            assert_eq!(bytes.len() as u64, resource.body.0, "{}", resource.url.path);
        }
        let Ok(image) = page.resources()[1].url.path.parse::<SyntheticImage>() else { return };
        let bytes = fs::read(folder.join("image/0")).unwrap();
        let PartPiece::Bytes(own) = &image.pieces()[0] else {
            panic!("an image has bytes of its own")
        };
        assert!(bytes.starts_with(own), "the very bytes that the origin gives");
        fs::write(folder.join("image/1"), "cut").unwrap();
        write_all(&files, folder).unwrap();
        assert_eq!(fs::metadata(folder.join("image/1")).unwrap().len(), 70_000);
    }

    #[test]
    fn what_needs_a_program_is_refused_with_the_reason() {
        let calls = |server_time| {
            Workload::calls(CallsWorkload {
                pattern: Pattern::Serial,
                count: 3,
                bytes: ByteSize(2_000),
                server_time,
                requests: None,
            })
        };
        let thinking = task(&calls(ServerTime::Fixed(Duration::from_millis(1))));
        assert!(of(&thinking).unwrap_err().contains("answered by a program"));
        let prompt = of(&task(&calls(ServerTime::Fixed(Duration::ZERO)))).unwrap();
        assert_eq!(
            prompt.iter().map(|(path, file)| (path.as_str(), file.bytes())).collect::<Vec<_>>(),
            [("api", 2_000)]
        );
    }
}

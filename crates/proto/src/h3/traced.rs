//! A control stream's frames as events have them.

use trace::{ControlFrame, PrioritizedElement, Tracer};
use wire::h3::{Frame, SettingsList};

/// Calls `emit` with a frame of the control stream, where there is somebody to tell.
pub(super) fn with_control_frame(
    tracer: &Tracer,
    frame: &Frame<'_>,
    emit: impl FnOnce(ControlFrame<'_>),
) {
    if !tracer.is_on() {
        return;
    }
    match *frame {
        Frame::Settings(list) => with_settings(list, emit),
        Frame::GoAway { id } => emit(ControlFrame::GoAway { id }),
        Frame::CancelPush { push } => emit(ControlFrame::CancelPush { push }),
        Frame::MaxPushId { push } => emit(ControlFrame::MaxPushId { push }),
        Frame::PriorityUpdate { stream, value } => {
            let element = PrioritizedElement::Request(stream);
            emit(ControlFrame::PriorityUpdate { element, value });
        }
        Frame::PriorityUpdatePush { push, value } => {
            let element = PrioritizedElement::Push(push);
            emit(ControlFrame::PriorityUpdate { element, value });
        }
        Frame::Unknown { kind, .. } => emit(ControlFrame::Unknown { kind: kind.0 }),
        // They belong to requests.
        Frame::Data(_) | Frame::Headers(_) | Frame::PushPromise { .. } => {}
    }
}

fn with_settings(list: SettingsList<'_>, emit: impl FnOnce(ControlFrame<'_>)) {
    let settings: Vec<_> = list.iter().map(|setting| (setting.id.0, setting.value)).collect();
    emit(ControlFrame::Settings(&settings));
}

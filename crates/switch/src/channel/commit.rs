//! Bundles as controllers handle them.

use brimful_openflow::wire::{BundleControl, Data, Message};
use brimful_openflow::{ErrorCode, ErrorMessage};

use super::answer::Answerer;
use super::bundles::{Bundle, kind};
use super::port_config::{change_port, check_port};
use super::requests::Answer;
use crate::control::Ended;
use crate::watch::Author;

impl Answerer<'_> {
    /// Does what a controller asks of a bundle.
    pub(super) fn bundle(&self, control: &BundleControl) -> Result<Answer, Ended> {
        let mut session = self.peer.main().session();
        let bundles = &mut session.bundles;
        let done = match control.kind {
            kind::OPEN => bundles.open(control),
            kind::CLOSE => bundles.close(control),
            kind::DISCARD => bundles.take(control.bundle).map(|_| ()),
            kind::COMMIT => match bundles.commit(control) {
                Ok(bundle) => {
                    drop(session);
                    self.commit(bundle)?
                }
                Err(error) => Err(error),
            },
            other => Err(ErrorCode::BUNDLE_TYPE.because(format!("there is no bundle control {other}"))),
        };
        let reply = BundleControl {
            kind: control.kind + 1,
            properties: Data::default(),
            ..control.clone()
        };
        Ok(done.map(|()| vec![Message::BundleControl(reply)]))
    }

    fn commit(&self, bundle: Bundle) -> Result<Result<(), ErrorMessage>, Ended> {
        let connection = self.peer.main().number;
        let done = self.hub.handle.call(move |switch| {
            let is_atomic = bundle.is_atomic();
            let Bundle {
                changes, heads, ports, ..
            } = bundle;
            for (head, change) in &ports {
                check_port(switch, change).map_err(|error| (*head, error))?;
            }
            let author = |index: usize| Author {
                connection,
                transaction: heads.get(index).transaction,
            };
            switch
                .change_together(changes, is_atomic, author)
                .map_err(|(index, error)| (heads.get(index), error))?;
            for (_, change) in &ports {
                change_port(switch, change);
            }
            switch.settle();
            Ok(())
        })?;
        Ok(done.map_err(|(head, error)| {
            self.peer.refuse(&head, &error);
            ErrorCode::BUNDLE_MESSAGE_FAILED.because(error.detail)
        }))
    }
}

//! How the tree changes. Each step keeps one rule: a node is in its parent's queue if and only if it is active
//! (it or a descendant is ready).

use super::{DEFAULT_WEIGHT, DependencyTree, Node, State};
use crate::StreamId;
use crate::schedule::Exclusive;
use crate::schedule::slots::Slot;

impl DependencyTree {
    /// A new node with the default priority (RFC 7540 §5.3.5).
    pub(super) fn add(&mut self, stream: StreamId, state: State) -> Slot {
        let slot = self.nodes.find_or_insert(stream, Node::new(stream, state));
        self.members.insert(slot, DEFAULT_WEIGHT);
        self.attach(slot, self.root);
        slot
    }

    /// Makes a node depend on another one (§5.3.3).
    pub(super) fn depend(&mut self, slot: Slot, parent: Slot, weight: u32, exclusive: Exclusive) {
        if self.descends(parent, slot) {
            // The new parent takes its new child's place first, and keeps its weight.
            if let Some(grandparent) = self.nodes[slot].parent {
                self.transfer(parent, grandparent, self.members.weight(parent));
            }
        }
        self.transfer(slot, parent, weight);
        if exclusive == Exclusive::Sole {
            let siblings: Vec<Slot> = self.nodes[parent]
                .children
                .iter()
                .copied()
                .filter(|&child| child != slot)
                .collect();
            for sibling in siblings {
                self.transfer(sibling, slot, self.members.weight(sibling));
            }
        }
    }

    /// Takes a node out of the tree: its children become its parent's and divide its weight (§5.3.4).
    pub(super) fn dissolve(&mut self, slot: Slot) {
        let Some(parent) = self.nodes[slot].parent else { return };
        let children = std::mem::take(&mut self.nodes[slot].children);
        let weight_of = |child: &Slot| u64::from(self.members.weight(*child));
        let total: u64 = children.iter().map(weight_of).sum();
        let weight = u64::from(self.members.weight(slot));
        let shares: Vec<u32> = children
            .iter()
            .map(|child| ((weight_of(child) * weight + total / 2) / total).max(1) as u32)
            .collect();
        self.nodes[slot].children = children.clone();
        for (child, share) in children.into_iter().zip(shares) {
            self.transfer(child, parent, share);
        }
        self.detach(slot);
        self.nodes.remove(self.nodes[slot].name);
    }

    /// Puts a node that is ready, or whose first descendant is, into the queues above it.
    pub(super) fn activate(&mut self, mut slot: Slot) {
        while let Some(parent) = self.nodes[slot].parent {
            if self.members.is_queued(slot) {
                return;
            }
            self.nodes[parent].queue.join(slot, &mut self.members);
            slot = parent;
        }
    }

    /// Takes a node that is no longer active out of the queues above it.
    pub(super) fn deactivate(&mut self, mut slot: Slot) {
        while let Some(parent) = self.nodes[slot].parent {
            if self.nodes[slot].is_active() {
                return;
            }
            self.nodes[parent].queue.leave(slot, &mut self.members);
            slot = parent;
        }
    }

    /// Whether `slot` is below `above`.
    fn descends(&self, mut slot: Slot, above: Slot) -> bool {
        while let Some(parent) = self.nodes[slot].parent {
            if parent == above {
                return true;
            }
            slot = parent;
        }
        false
    }

    /// Moves a node with all that depends on it.
    fn transfer(&mut self, slot: Slot, parent: Slot, weight: u32) {
        if self.nodes[slot].parent == Some(parent) && self.members.weight(slot) == weight {
            return;
        }
        self.detach(slot);
        self.members.renew(slot, weight);
        self.attach(slot, parent);
    }

    fn attach(&mut self, slot: Slot, parent: Slot) {
        self.nodes[slot].position = self.nodes[parent].children.len();
        self.nodes[slot].parent = Some(parent);
        self.nodes[parent].children.push(slot);
        if self.nodes[slot].is_active() {
            self.activate(slot);
        }
    }

    fn detach(&mut self, slot: Slot) {
        let Some(parent) = self.nodes[slot].parent.take() else { return };
        let position = self.nodes[slot].position;
        let children = &mut self.nodes[parent].children;
        children.swap_remove(position);
        if let Some(&moved) = children.get(position) {
            self.nodes[moved].position = position;
        }
        self.nodes[parent].queue.leave(slot, &mut self.members);
        self.deactivate(parent);
    }
}

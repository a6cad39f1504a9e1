/** What readers select from the model of a study. */

import type { View } from '../../../projections/runner.ts';
import type { Design } from '../model/design.ts';
import type { Model, RegisteredStudy } from '../model/model.ts';
import type { ParticipantEvents } from '../model/participants.ts';
import { Participants } from '../model/participants.ts';
import { type StudyState, studyState } from './state.ts';

function view<T>(select: (model: Model) => T, ofNone: T): View<StudyState, T> {
  return { of: studyState, select: (state) => (state.status === 'unregistered' ? ofNone : select(state)) };
}

export const participants = view((model) => model.participants, new Participants());

/** In force. */
export const design = view<Design | undefined>((model) => model.design, undefined);

/** Every design that the study has had, in order. The last one is in force. */
export const designs = view<readonly Design[]>((model) => model.designs, []);

export const studyConfig = view<RegisteredStudy | undefined>((model) => model.registered, undefined);

const NO_EVENTS: ParticipantEvents = { inOrder: [], byEnrolment: new Map() };

/** Whether it ever declared a visit, or gave out a pack at one. */
export const hasVisits = view((model) => model.hasVisits, false);

/** What happened to the participants after their enrolment. */
export const participantEvents = view((model) => model.shown?.events ?? NO_EVENTS, NO_EVENTS);

/** How many are on each treatment; undefined before the registration. */
export const balance = view((model) => model.shown?.balance, undefined);

/** Revision of the last event that is about the study as a whole; -1 before the first. */
export const lastStudyWide = view((model) => model.lastStudyWide, -1);

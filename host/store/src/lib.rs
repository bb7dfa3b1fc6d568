//! Run records in one SQLite file, written trial by trial.

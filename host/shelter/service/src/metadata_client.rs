//! Asks a cloud's metadata service for notices.

use crate::error::ShelterError;
use loadline_kernel::metadata::{self, Patience};
use loadline_shelter_policy::config::{Cloud, NoticeSource};
use loadline_shelter_policy::notice::{CloudNotice, MetadataRequest, NoticeError, granted, notices};
use std::time::Duration;

/// Azure's first answer takes up to two minutes.
const PATIENCE: Patience = Patience { connection: Duration::from_secs(5), answer: Duration::from_secs(120) };

/// Listens for notices of one cloud.
#[derive(Debug)]
pub(crate) struct MetadataClient {
    source: NoticeSource,
    token: Option<String>,
}

impl MetadataClient {
    pub(crate) fn new(source: NoticeSource) -> Self {
        Self { source, token: None }
    }

    pub(crate) fn cloud(&self) -> Cloud {
        self.source.cloud
    }

    /// The notices of now.
    pub(crate) fn poll(&mut self) -> Result<Vec<CloudNotice>, ShelterError> {
        if self.source.cloud == Cloud::Aws && self.token.is_none() {
            let (status, token) = self.ask(&MetadataRequest::aws_token())?;
            self.token = Some(granted(status, &token).map_err(|error| self.wrap(error))?.trim().to_owned());
        }
        let (status, body) = self.ask(&MetadataRequest::poll(self.source.cloud, self.token.as_deref()))?;
        let notices = notices(self.source.cloud, status, &body);
        if notices == Err(NoticeError::Status(401)) {
            // The token is too old: the next poll takes a new one.
            self.token = None;
        }
        notices.map_err(|error| self.wrap(error))
    }

    /// Everything is saved: Azure may begin early.
    pub(crate) fn approve(&self, notice: &CloudNotice) -> Result<(), ShelterError> {
        if self.source.cloud != Cloud::Azure {
            return Ok(());
        }
        let (status, body) = self.ask(&MetadataRequest::azure_start(&notice.id))?;
        granted(status, &body).map(drop).map_err(|error| self.wrap(error))
    }

    fn wrap(&self, source: NoticeError) -> ShelterError {
        ShelterError::Notice { address: self.source.address.clone(), source }
    }

    fn ask(&self, request: &MetadataRequest) -> Result<(u16, String), ShelterError> {
        let MetadataRequest { method, path, headers, body } = request;
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request = metadata::MetadataRequest { method, path, headers: &headers, body };
        let address = &self.source.address;
        let answer = metadata::ask(address, &request, PATIENCE).map_err(ShelterError::io("ask", address))?;
        Ok((answer.status.as_u16(), answer.body))
    }
}

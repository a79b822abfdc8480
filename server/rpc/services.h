// The services of proto/expunge/v1 as gRPC sees them: each method names its function of core, and nothing
// more. Messages come and go as bytes: what gRPC cannot decode itself it calls UNIMPLEMENTED, without
// details.
#ifndef EXPUNGE_SERVER_RPC_SERVICES_H_
#define EXPUNGE_SERVER_RPC_SERVICES_H_

#include "expunge/v1/admin_service.grpc.pb.h"
#include "expunge/v1/memory_service.grpc.pb.h"
#include "expunge/v1/unlearning_service.grpc.pb.h"
#include "server/rpc/dispatcher.h"

namespace expunge::rpc {

using RawMemoryService = v1::MemoryService::WithRawCallbackMethod_CreateMemory<
    v1::MemoryService::WithRawCallbackMethod_GetMemory<v1::MemoryService::WithRawCallbackMethod_ListMemories<
        v1::MemoryService::WithRawCallbackMethod_DeleteMemory<v1::MemoryService::WithRawCallbackMethod_Add<
            v1::MemoryService::WithRawCallbackMethod_Evict<v1::MemoryService::WithRawCallbackMethod_Read<
                v1::MemoryService::WithRawCallbackMethod_StreamRead<
                    v1::MemoryService::WithRawCallbackMethod_ListTokens<v1::MemoryService::Service>>>>>>>>>;

class MemoryServiceHandlers final : public RawMemoryService {
 public:
  explicit MemoryServiceHandlers(Dispatcher* dispatcher) : dispatcher_(dispatcher) {}

  grpc::ServerUnaryReactor* CreateMemory(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* message, grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"MemoryService.CreateMemory", Lane::kChange}, context, message, answer,
                              &core::Service::CreateMemory);
  }

  grpc::ServerUnaryReactor* GetMemory(grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                                      grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"MemoryService.GetMemory", Lane::kRead}, context, message, answer,
                              &core::Service::GetMemory);
  }

  grpc::ServerUnaryReactor* ListMemories(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* message, grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"MemoryService.ListMemories", Lane::kRead}, context, message, answer,
                              &core::Service::ListMemories);
  }

  grpc::ServerUnaryReactor* DeleteMemory(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* message, grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"MemoryService.DeleteMemory", Lane::kChange}, context, message, answer,
                              &core::Service::DeleteMemory);
  }

  grpc::ServerUnaryReactor* Add(grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                                grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"MemoryService.Add", Lane::kChange}, context, message, answer,
                              &core::Service::Add);
  }

  grpc::ServerUnaryReactor* Evict(grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                                  grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"MemoryService.Evict", Lane::kChange}, context, message, answer,
                              &core::Service::Evict);
  }

  grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                                 grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"MemoryService.Read", Lane::kRead}, context, message, answer,
                              &core::Service::Read);
  }

  ReadStreams::Reactor* StreamRead(grpc::CallbackServerContext* context) override {
    return dispatcher_->ServeReads("MemoryService.StreamRead", context);
  }

  grpc::ServerUnaryReactor* ListTokens(grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                                       grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"MemoryService.ListTokens", Lane::kRead}, context, message, answer,
                              &core::Service::ListTokens);
  }

 private:
  Dispatcher* const dispatcher_;
};

using RawUnlearningService = v1::UnlearningService::WithRawCallbackMethod_Delete<
    v1::UnlearningService::WithRawCallbackMethod_Purge<v1::UnlearningService::WithRawCallbackMethod_Certify<
        v1::UnlearningService::WithRawCallbackMethod_GetCertificate<
            v1::UnlearningService::WithRawCallbackMethod_ListCertificates<
                v1::UnlearningService::WithRawCallbackMethod_WatchCertificates<
                    v1::UnlearningService::WithRawCallbackMethod_ExportAudit<
                        v1::UnlearningService::WithRawCallbackMethod_GetLogProof<
                            v1::UnlearningService::WithRawCallbackMethod_GetErasureStatus<
                                v1::UnlearningService::WithRawCallbackMethod_ListSigningKeys<
                                    v1::UnlearningService::Service>>>>>>>>>>;

class UnlearningServiceHandlers final : public RawUnlearningService {
 public:
  explicit UnlearningServiceHandlers(Dispatcher* dispatcher) : dispatcher_(dispatcher) {}

  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                                   grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"UnlearningService.Delete", Lane::kChange}, context, message, answer,
                              &core::Service::Delete);
  }

  grpc::ServerUnaryReactor* Purge(grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                                  grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"UnlearningService.Purge", Lane::kChange}, context, message, answer,
                              &core::Service::Purge);
  }

  grpc::ServerUnaryReactor* Certify(grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                                    grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"UnlearningService.Certify", Lane::kChange}, context, message, answer,
                              &core::Service::Certify);
  }

  grpc::ServerUnaryReactor* GetCertificate(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* message,
                                           grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"UnlearningService.GetCertificate", Lane::kRead}, context, message, answer,
                              &core::Service::GetCertificate);
  }

  grpc::ServerUnaryReactor* ListCertificates(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* message,
                                             grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"UnlearningService.ListCertificates", Lane::kRead}, context, message, answer,
                              &core::Service::ListCertificates);
  }

  Streams::Reactor* WatchCertificates(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* message) override {
    return dispatcher_->ServeStream({"UnlearningService.WatchCertificates", StreamKind::kWatch}, context,
                                    message, &core::Service::WatchCertificates);
  }

  Streams::Reactor* ExportAudit(grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* message) override {
    return dispatcher_->ServeStream({"UnlearningService.ExportAudit", StreamKind::kExport}, context, message,
                                    &core::Service::ExportAudit);
  }

  grpc::ServerUnaryReactor* GetLogProof(grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                                        grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"UnlearningService.GetLogProof", Lane::kRead}, context, message, answer,
                              &core::Service::GetLogProof);
  }

  grpc::ServerUnaryReactor* GetErasureStatus(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* message,
                                             grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"UnlearningService.GetErasureStatus", Lane::kRead}, context, message, answer,
                              &core::Service::GetErasureStatus);
  }

  grpc::ServerUnaryReactor* ListSigningKeys(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* message,
                                            grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"UnlearningService.ListSigningKeys", Lane::kRead}, context, message, answer,
                              &core::Service::ListSigningKeys);
  }

 private:
  Dispatcher* const dispatcher_;
};

using RawAdminService = v1::AdminService::WithRawCallbackMethod_CreateBackup<
    v1::AdminService::WithRawCallbackMethod_GetServerStatus<
        v1::AdminService::WithRawCallbackMethod_RotateSigningKey<v1::AdminService::Service>>>;

class AdminServiceHandlers final : public RawAdminService {
 public:
  explicit AdminServiceHandlers(Dispatcher* dispatcher) : dispatcher_(dispatcher) {}

  grpc::ServerUnaryReactor* CreateBackup(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* message, grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"AdminService.CreateBackup", Lane::kChange}, context, message, answer,
                              &core::Service::CreateBackup);
  }

  grpc::ServerUnaryReactor* GetServerStatus(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* message,
                                            grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"AdminService.GetServerStatus", Lane::kRead}, context, message, answer,
                              &core::Service::GetServerStatus);
  }

  grpc::ServerUnaryReactor* RotateSigningKey(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* message,
                                             grpc::ByteBuffer* answer) override {
    return dispatcher_->Serve({"AdminService.RotateSigningKey", Lane::kChange}, context, message, answer,
                              &core::Service::RotateSigningKey);
  }

 private:
  Dispatcher* const dispatcher_;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_SERVICES_H_
